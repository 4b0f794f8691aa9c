// SPDX-License-Identifier: BSD-3-Clause
// The inputs of a run. A finished run is kept while all of them are unchanged.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "harness/sweep/sweep_inputs.hpp"

namespace plumbline {

/// Sets the inputs of each reference and case of the plan, whose requests are set: everything that can change its
/// record. A case includes its reference's. Starts only ldd. `trainers`: their folder, including modules (*.so).
/// Libraries and weights files above 64 MiB are identified by size and modification time. `files`: receives the files
/// read; those that no run writes must not change from now on.
void set_inputs(const SweepFile& sweep, SweepPlan& plan, const std::filesystem::path& trainers, SweepInputs& files);

/// The name of the first input that differs, or that only one of them has; nullopt if they are equal.
std::optional<std::string> first_difference(const RunInputs& before, const RunInputs& now);

}  // namespace plumbline
