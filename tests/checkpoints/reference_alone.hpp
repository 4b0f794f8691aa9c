// Which trainer a test of checkpoints takes.
#pragma once

namespace plumbline {

/// In place of a number of ranks: the reference trains.
inline constexpr int reference_alone = 0;

}  // namespace plumbline
