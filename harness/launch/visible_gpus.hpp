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
std::optional<std::vector<std::string>> visible_gpus(const std::filesystem::path& devices = "/dev");

}  // namespace plumbline
