// SPDX-License-Identifier: BSD-3-Clause
// --check: whether a run could start, without training.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "support/json.hpp"
#include "training/training_run.hpp"

namespace plumbline {

inline constexpr const char* check_schema = "plumbline-check/1";

/// What one --check found so far; entries remain in the answer if it then fails.
struct RunAnswer {
  Json json;         ///< run, plan, memory
  std::string text;  ///< the same as text
};

/// Runs the check and prints the answer on stdout as one JSON object (docs/run-file.md) or as lines. Prints an obstacle
/// on stderr, prefixed with `program`; it determines the returned exit code.
int answer_check(const std::string& program, const std::filesystem::path& run_file, bool as_json,
                 const std::function<void(RunAnswer&)>& ask);

/// The part common to both trainers: the resolved run, the folders that it would write, the weights' names and shapes,
/// the first tokens. `record`: empty if the run is not recorded.
void check_inputs(const TrainingRun& training, const std::filesystem::path& record, RunAnswer& answer);

}  // namespace plumbline
