// SPDX-License-Identifier: BSD-3-Clause
// What this machine offers a sweep, and what is missing.
#pragma once

#include <filesystem>
#include <string>

#include "support/json.hpp"

namespace plumbline {

/// Whether the folder holds neither trainer, as where `make judge` or the wheel put the program: nothing is broken
/// then, and what a sweep starts is the user's own.
bool judge_alone(const std::filesystem::path& folder);

/// What the trainers' answers, and CUDA_VISIBLE_DEVICES where it is wrong, say of GPUs: {"can": [...], "why_not_more":
/// [...], "devices": <the pipeline's>}. An answer without "gpu" counts as a CPU build's.
Json examine_gpus(const Json& trainers);

/// How many GPUs what is started here may use, and why none.
struct GpuCount {
  std::size_t count = 0;
  std::string why_none;
};

/// By what CUDA shows the pipeline (its --capabilities), where that uses GPUs; else by visible_gpus. Throws its errors.
GpuCount count_gpus(const Json& pipeline);
/// Of the trainers in this folder.
GpuCount count_gpus(const std::filesystem::path& trainers);

/// What CTest's --resource-spec-file takes: every GPU once, by its number, as the resource "gpus".
Json ctest_resources(std::size_t gpus);

/// {"usable": true, "trainers": {"plumbline-reference": <its --capabilities> | {"missing": why}, ...}, "programs":
/// {"mpirun": path | null}, "two_ranks": <start_two_ranks> | null where there is nothing to start, "cores": 2,
///  "gpus": <examine_gpus>, "can": ["sweep over MPI processes on the CPU", ...],
///  "missing": ["mpirun: install openmpi-bin", ...], "judge_alone": false}. What is missing keeps the CPU sweep of our
/// own trainers from working; what GPUs lack does not. Where neither trainer is there (judge_alone), nothing is
/// missing: what a sweep then starts is the user's.
Json examine_machine(const std::filesystem::path& trainers);

/// The same for people: whether it is usable first, and then what is missing.
std::string doctor_text(const Json& findings);

}  // namespace plumbline
