// SPDX-License-Identifier: BSD-3-Clause
// Checks whether this machine can run sweeps.
#pragma once

#include <filesystem>
#include <string>

#include "support/json.hpp"

namespace plumbline {

/// Whether the folder holds neither trainer, as after `make judge` or in the wheel: nothing is broken
/// then, and a sweep starts the user's commands.
bool judge_alone(const std::filesystem::path& folder);

/// GPUs by the trainers' answers, and errors in CUDA_VISIBLE_DEVICES: {"can": [...], "why_not_more":
/// [...], "devices": <the pipeline's>}. An answer without "gpu" counts as a CPU build's.
Json examine_gpus(const Json& trainers);

/// Number of GPUs that processes started here may use; if 0, the reason.
struct GpuCount {
  std::size_t count = 0;
  std::string why_none;
};

/// By the pipeline's --capabilities if that build uses GPUs, else by visible_gpus, whose errors it throws.
GpuCount count_gpus(const Json& pipeline);
/// For the trainers in this folder.
GpuCount count_gpus(const std::filesystem::path& trainers);

/// For CTest's --resource-spec-file: every GPU once, by its number, as the resource "gpus".
Json ctest_resources(std::size_t gpus);

/// {"usable": true, "trainers": {"plumbline-reference": <its --capabilities> | {"missing": why}, ...}, "programs":
/// {"mpirun": path | null}, "two_ranks": <result of starting two> | null where there is nothing to start, "cores": 2,
///  "gpus": <examine_gpus>, "can": ["sweep over MPI processes on the CPU", ...],
///  "missing": ["mpirun: install openmpi-bin", ...], "judge_alone": false}. What is missing prevents a CPU sweep of our
/// own trainers; what GPUs lack does not. If neither trainer exists (judge_alone), nothing is
/// missing: a sweep then starts the user's commands.
Json examine_machine(const std::filesystem::path& trainers);

/// The same as text: first whether it is usable, then what is missing.
std::string doctor_text(const Json& findings);

}  // namespace plumbline
