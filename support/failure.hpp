// SPDX-License-Identifier: BSD-3-Clause
// Any exception in the words that a person needs, whichever library threw it.
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

/// An Error's own code and message; plain words for a path that cannot be used (bad_input) and for memory that ran out
/// (harness_failure); "internal error: ..." for everything else (harness_failure).
Failure describe_failure(const std::exception& error);

/// Of what `body` threw; nothing where it did not throw.
std::optional<Failure> failure_of(const std::function<void()>& body);

}  // namespace plumbline
