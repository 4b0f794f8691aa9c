// SPDX-License-Identifier: BSD-3-Clause
// --check: whether a run could begin, asked without training anything.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "support/json.hpp"
#include "training/training_run.hpp"

namespace plumbline {

inline constexpr const char* check_schema = "plumbline-check/1";

/// What one --check found out so far; what it had learned stays in the answer where it then fails.
struct RunAnswer {
  Json json;         ///< beside the outcome: run, plan, memory
  std::string text;  ///< the same for people
};

/// Asks, and answers on stdout: as one JSON object (docs/run-file.md), or in lines. What is in the way
/// goes to stderr, signed by `program`, and decides the exit code that is returned.
int answer_check(const std::string& program, const std::filesystem::path& run_file, bool as_json,
                 const std::function<void(RunAnswer&)>& ask);

/// The part that both trainers answer alike: the resolved run, the weights' names and shapes, the first tokens.
void check_inputs(const TrainingRun& training, RunAnswer& answer);

}  // namespace plumbline
