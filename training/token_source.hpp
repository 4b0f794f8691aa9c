// The files that a run's tokens come from, before any of them is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "training/run_file.hpp"

namespace plumbline {

/// In the order they are read: the file itself, or a folder's .txt files in name order. Throws InputError when a folder
/// holds none, or when the path cannot be followed.
std::vector<std::filesystem::path> token_files(const DataSettings& data);

/// How many tokens there are, by the files' sizes alone; nothing when a file is not there or is no file.
std::optional<std::int64_t> tokens_by_size(const DataSettings& data);

/// Throws InputError when a step needs more tokens than there are.
void refuse_short_source(const DataSettings& data, std::int64_t available, std::int64_t needed);

}  // namespace plumbline
