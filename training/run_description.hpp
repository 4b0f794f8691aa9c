// SPDX-License-Identifier: BSD-3-Clause
// Describes a run, with all defaults filled in, as JSON and as a few lines; and answers --check: whether it could start
// here.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "support/json.hpp"
#include "training/run.hpp"

namespace plumbline {

/// Model, data, train, pipeline, evaluate, checkpoint, record and device with the command line's overrides applied
/// (docs/run-file.md, "Asking before a run").
Json resolved_run(const Run& run);

/// Model and steps, one line each.
std::vector<std::string> run_lines(const Run& run);

/// Printed on stderr before the first step: what is trained, from which step, and where it is saved. `how` says on what
/// it runs; `record` is used if the run is recorded.
void tell_start(const std::string& how, const Run& run, const std::filesystem::path& record,
                const std::optional<ResumedFrom>& resumed_from);
/// Printed after the last step: where the results are.
void tell_end(const Run& run, const std::filesystem::path& record);

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
void check_inputs(const Run& run, const std::filesystem::path& record, RunAnswer& answer);

}  // namespace plumbline
