// SPDX-License-Identifier: BSD-3-Clause
// Which GPUs this process may use, by the names that CUDA_VISIBLE_DEVICES takes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

inline constexpr const char* visible_gpus_variable = "CUDA_VISIBLE_DEVICES";

/// In their order. Where the variable is set: its entries up to the first that names no device ("" or -1), as CUDA
/// reads them. Where it is not: 0, 1, ..., one for each nvidia<number> in `devices`. Nothing where neither tells.
/// Throws InputError: one is named twice; a MIG slice is named beside others, of which CUDA shows a process one.
std::optional<std::vector<std::string>> visible_gpus(const std::filesystem::path& devices = "/dev");

/// Shows this process, and what it starts, only the GPUs that CTest assigned to its test (CTEST_RESOURCE_GROUP_*, by
/// their numbers among the visible ones). Nothing changes without an assignment. Before CUDA is started. Throws what
/// visible_gpus throws.
void take_assigned_gpus();

}  // namespace plumbline
