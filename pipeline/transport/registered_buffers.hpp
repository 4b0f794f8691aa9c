// Tensors' memory that a transport's library knows.
#pragma once

#include <cstdint>
#include <string>

namespace plumbline {

/// Where a transport can let messages go straight from and to tensors' memory by registering it with its library.
struct RegisteredBuffers {
  std::string why_not;          ///< empty: what is sent and received lies in registered memory
  std::int64_t segments = 0;    ///< pieces registered now
  std::int64_t bytes = 0;       ///< in them
  std::int64_t given_back = 0;  ///< pieces that the allocator gave back, and that were deregistered before
};

}  // namespace plumbline
