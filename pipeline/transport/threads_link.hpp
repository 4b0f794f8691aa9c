// SPDX-License-Identifier: BSD-3-Clause
// Messages between the threads of one process.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/transport/link.hpp"

namespace plumbline {

/// One link a rank. A message is copied by the receiver's thread, out of the sender's memory, when both ends are
/// posted.
std::vector<std::unique_ptr<Link>> make_threads_links(int world_size);

}  // namespace plumbline
