// SPDX-License-Identifier: BSD-3-Clause
// A summary of a run with all defaults filled in: for programs, and as a few lines for people.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "support/json.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// Model, data, train, pipeline, evaluate, checkpoint, record and device with the command line's overrides applied
/// (docs/run-file.md, "Asking before a run").
Json resolved_run(const TrainingRun& training);

/// Model and steps, one line each.
std::vector<std::string> run_lines(const TrainingRun& training);

/// Printed on stderr before the first step: what is trained, from which step, and where it is saved. `how` says on what
/// it runs; `record` is used if the run is recorded.
void tell_start(const std::string& how, const TrainingRun& training, const std::filesystem::path& record,
                const std::optional<ResumedFrom>& resumed_from);
/// Printed after the last step: where the results are.
void tell_end(const TrainingRun& training, const std::filesystem::path& record);

}  // namespace plumbline
