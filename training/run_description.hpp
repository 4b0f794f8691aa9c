// SPDX-License-Identifier: BSD-3-Clause
// Describes a run as JSON, with all defaults filled in, and prints lines made from it: before the first step and for
// --check, which says whether the run could start here.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "record/record.hpp"
#include "support/json.hpp"
#include "training/memory_plan.hpp"
#include "training/run.hpp"

namespace plumbline {

/// Model, data, train, pipeline, evaluate, checkpoint, record and device with the command line's overrides applied
/// (docs/run-file.md, "Asking before a run").
Json resolved_run(const Run& run);

/// What a trainer says about a run: "run" (resolved_run), "plan" (plan_json; null on one device) and, for --check,
/// "memory" with a "table" of memory_row.
Json describe_run(const Run& run, const Json& plan = nullptr);

/// A row of the memory table: `largest` is the plan of the rank that needs the most, `all_ranks` the sum. A row without
/// a plan is {"devices", "refusal"}.
Json memory_row(const std::string& devices, const MemoryPlan& largest, std::int64_t all_ranks);

/// Printed on stderr before the first step: what is trained, from which step, and where it is saved. `record` is used
/// if the run is recorded.
void tell_start(const Json& description, const Run& run, const std::filesystem::path& record,
                const std::optional<ResumedFrom>& resumed_from);
/// Printed after the last step: where the results are.
void tell_end(const Run& run, const std::filesystem::path& record);

inline constexpr const char* check_schema = "plumbline-check/1";

/// Prints the answer to --check on stdout, as one JSON object (docs/run-file.md) or as lines. `ask` fills in the
/// description of the run; what it filled in before it failed remains. Prints an obstacle on stderr, prefixed with
/// `program`; it determines the returned exit code.
int answer_check(const std::string& program, const std::filesystem::path& run_file, bool as_json,
                 const std::function<void(Json& answer)>& ask);

/// Checks what both trainers need: the folders that the run would write, the weights' names and shapes, the first
/// tokens. `record`: empty if the run is not recorded.
void check_inputs(const Run& run, const std::filesystem::path& record);

}  // namespace plumbline
