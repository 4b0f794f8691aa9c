// SPDX-License-Identifier: BSD-3-Clause
// The errors that reach a person: each says what, where and what to do, and carries the program's exit code.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

namespace plumbline {

/// What every program's exit code means.
enum class ExitCode : int {
  holds = 0,
  does_not_hold = 1,    ///< a claim failed, or a trainer crashed or hung
  bad_input = 2,        ///< usage or input error
  harness_failure = 3,  ///< the machine did not let us do the work: no mpirun, disk full
};

/// Base of every error with a message for people. `message` is complete: what, where, what to do.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// What the user gave cannot be used: file, key or option named in the message.
class InputError : public Error {
 public:
  explicit InputError(const std::string& message) : Error(ExitCode::bad_input, message) {}
};

/// The machine failed us: disk full, a program that is missing.
class SystemError : public Error {
 public:
  explicit SystemError(const std::string& message) : Error(ExitCode::harness_failure, message) {}
};

/// A run went wrong: a peer disagreed, a deadline passed, a check does not hold.
class RunError : public Error {
 public:
  explicit RunError(const std::string& message) : Error(ExitCode::does_not_hold, message) {}
};

/// The one boundary of a program: runs `body`, prints an escaping exception as `<program>: <message>` to stderr and
/// returns the exit code.
int run_main(const std::string& program, const std::function<int()>& body) noexcept;

}  // namespace plumbline
