// SPDX-License-Identifier: BSD-3-Clause
// Descriptions of exceptions of any library for users.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "support/error.hpp"

namespace plumbline {

struct Failure {
  ExitCode code;
  std::string words;  ///< what, where, what to do
};

/// An Error's own code and message; a description of an unusable path (bad_input) or exhausted memory
/// (harness_failure); "internal error: ..." for anything else (harness_failure).
Failure describe_failure(const std::exception& error);

/// The failure of what `body` threw; nullopt if it did not throw.
std::optional<Failure> failure_of(const std::function<void()>& body);

}  // namespace plumbline
