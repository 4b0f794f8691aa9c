// SPDX-License-Identifier: BSD-3-Clause
// The error of a wait that exceeded its deadline.
#pragma once

#include <cstdint>
#include <vector>

#include "support/error.hpp"

namespace plumbline {

/// The message names the rank, the operation and peer it waits for, and the duration.
class DeadlineError : public RunError {
 public:
  using RunError::RunError;
  /// With several hosts, the chain of waiting ranks as they announced it: whom this rank waited for, whom that rank
  /// waited for, and so on; a repeated rank ends the chain.
  std::vector<std::int64_t> waited_for;
};

}  // namespace plumbline
