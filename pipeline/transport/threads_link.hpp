// SPDX-License-Identifier: BSD-3-Clause
// A link between threads of one process.
#pragma once

#include <memory>
#include <vector>

#include "pipeline/transport/link.hpp"

namespace plumbline {

/// One link per rank. The receiver's thread copies a message from the sender's memory when both ends are posted.
std::vector<std::unique_ptr<Link>> make_threads_links(int world_size);

}  // namespace plumbline
