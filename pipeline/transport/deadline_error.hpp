// The error of a wait that lasted too long.
#pragma once

#include "support/error.hpp"

namespace plumbline {

/// A wait lasted longer than its deadline: the message names the rank, what it waits for, from whom, and for how long.
class DeadlineError : public RunError {
 public:
  using RunError::RunError;
};

}  // namespace plumbline
