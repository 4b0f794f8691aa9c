// SPDX-License-Identifier: BSD-3-Clause
// What a run will do, every default filled in: for programs, and in a few lines for people.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "support/json.hpp"
#include "training/training_run.hpp"

namespace plumbline {

/// Model, data, train, pipeline, evaluate, checkpoint, record and device as they count, the command line's words in
/// place of the run file's (docs/run-file.md, "Asking before a run").
Json resolved_run(const TrainingRun& training);

/// Model and steps, each in a line.
std::vector<std::string> run_lines(const TrainingRun& training);

/// On stderr, before the first step: what is trained, from where on and where it is kept. `how` says what computes;
/// `record` counts where the run is recorded.
void tell_start(const std::string& how, const TrainingRun& training, const std::filesystem::path& record,
                const std::optional<ResumedFrom>& resumed_from);
/// After the last: where it went.
void tell_end(const TrainingRun& training, const std::filesystem::path& record);

}  // namespace plumbline
