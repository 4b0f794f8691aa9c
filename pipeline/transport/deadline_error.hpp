// SPDX-License-Identifier: BSD-3-Clause
// The error of a wait that lasted too long.
#pragma once

#include <cstdint>
#include <vector>

#include "support/error.hpp"

namespace plumbline {

/// A wait lasted longer than its deadline: the message names the rank, what it waits for, from whom, and for how long.
class DeadlineError : public RunError {
 public:
  using RunError::RunError;
  /// Of ranks on several hosts: whom it waited for, whom that one waited for, and so on, as they have said; the first
  /// that is met twice stands at the end again.
  std::vector<std::int64_t> waited_for;
};

}  // namespace plumbline
