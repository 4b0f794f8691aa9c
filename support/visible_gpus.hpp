// SPDX-License-Identifier: BSD-3-Clause
// The GPUs that this process may use, by the names of CUDA_VISIBLE_DEVICES.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

inline constexpr const char* visible_gpus_variable = "CUDA_VISIBLE_DEVICES";

/// In order. If the variable is set: its entries up to the first that names no device ("" or -1), as CUDA reads them.
/// Otherwise 0, 1, ..., one for each nvidia<number> in `devices`. nullopt if neither is available. Throws InputError
/// for a duplicate, and for a MIG slice together with others, because CUDA shows a process only one.
std::optional<std::vector<std::string>> visible_gpus(const std::filesystem::path& devices = "/dev");

/// Restricts this process and its children to the GPUs that CTest assigned to its test (CTEST_RESOURCE_GROUP_*, by
/// their index among the visible ones). Does nothing without an assignment. Call it before CUDA is initialized. Throws
/// as visible_gpus.
void take_assigned_gpus();

}  // namespace plumbline
