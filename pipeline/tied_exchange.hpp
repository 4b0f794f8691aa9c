// A tied weight between ranks: the gradients of its two uses become one sum on both sides, and its copies stay equal.
#pragma once

#include <cstdint>

#include "pipeline/transport/transport.hpp"
#include "training/tied_weight.hpp"

namespace plumbline {

/// Called by the ranks of the embedding and of the head, each naming the other. The head's gradient goes to the
/// embedding's rank, is added there, and the sum comes back; on a rank that holds both nothing travels.
void exchange_tied_gradients(Transport& transport, const TiedWeight& tied, int peer);

/// Collective. Throws RunError on rank 0 when two copies differ.
void compare_tied_copies(Transport& transport, std::int64_t step, const TiedWeight& tied);

}  // namespace plumbline
