// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/transport/endpoint.hpp"

namespace plumbline {

void check_head(int peer, std::size_t came, std::size_t expected) {
  if (came == expected) return;
  throw RunError("rank " + std::to_string(peer) + " sent a header of " + std::to_string(came) + " bytes where " +
                 std::to_string(expected) + " were expected: the two ranks do not run the same program");
}

}  // namespace plumbline
