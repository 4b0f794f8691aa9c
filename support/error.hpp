// SPDX-License-Identifier: BSD-3-Clause
// Errors for users: each states what failed, where and what to do, and has the program's exit code.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

namespace plumbline {

/// Exit codes of all programs.
enum class ExitCode : int {
  holds = 0,
  does_not_hold = 1,    ///< a claim failed, or a trainer crashed or hung
  bad_input = 2,        ///< usage or input error
  harness_failure = 3,  ///< the environment failed: no mpirun, disk full
  stopped = 4,          ///< a training that a signal stopped, and that is saved
};

/// Base class. `message` is complete: what failed, where, what to do.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

/// Invalid input: the message names file, key or option.
class InputError : public Error {
 public:
  explicit InputError(const std::string& message) : Error(ExitCode::bad_input, message) {}
};

/// The environment failed: disk full, missing program.
class SystemError : public Error {
 public:
  explicit SystemError(const std::string& message) : Error(ExitCode::harness_failure, message) {}
};

/// A run failed: a peer disagreed, a deadline passed, a check does not hold.
class RunError : public Error {
 public:
  explicit RunError(const std::string& message) : Error(ExitCode::does_not_hold, message) {}
};

/// Any exception, described for users.
struct Failure {
  ExitCode code;
  std::string words;  ///< what, where, what to do
};

/// An Error's own code and message; a description of an unusable path (bad_input) or exhausted memory
/// (harness_failure); "internal error: ..." for anything else (harness_failure).
Failure describe_failure(const std::exception& error);

/// The failure of what `body` threw; nullopt if it did not throw.
std::optional<Failure> failure_of(const std::function<void()>& body);

/// Wrapper of every main(): runs `body`, prints an escaping exception as `<program>: <message>` to stderr and returns
/// the exit code.
int run_main(const std::string& program, const std::function<int()>& body) noexcept;

}  // namespace plumbline
