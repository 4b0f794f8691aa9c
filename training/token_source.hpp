// SPDX-License-Identifier: BSD-3-Clause
// The files that a run's tokens come from, before any of them is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "training/run_file.hpp"

namespace plumbline {

/// In the order they are read: a text itself, or a folder's .txt files in name order; or the files that data.tokens
/// names, one after the other, those that match a pattern in name order, and for an .idx its .bin. Throws InputError
/// when a folder holds none, a pattern matches nothing, an .idx has no .bin, a file is named twice, or a path cannot be
/// followed.
std::vector<std::filesystem::path> token_files(const DataSettings& data);

/// As the run file names it, for messages and records.
std::string source_text(const DataSettings& data);

/// How many tokens there are, by the files' sizes and headers alone; nothing when a file is not there or is no file.
std::optional<std::int64_t> tokens_by_size(const DataSettings& data);

/// Throws InputError when a step needs more tokens than there are.
void refuse_short_source(const DataSettings& data, std::int64_t available, std::int64_t needed);

}  // namespace plumbline
