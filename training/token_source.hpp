// SPDX-License-Identifier: BSD-3-Clause
// The files of a run's tokens, before any of them is read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "training/run_file.hpp"

namespace plumbline {

/// In reading order: a text, or a folder's .txt files in name order; or the files of data.tokens, one after the other,
/// those that match a pattern in name order, and for an .idx its .bin. Throws InputError if a folder has no .txt file,
/// a pattern matches nothing, an .idx has no .bin, a file is named twice, or a path cannot be resolved.
std::vector<std::filesystem::path> token_files(const DataSettings& data);

/// The files of data.ignore in reading order. Throws InputError as token_files does.
std::vector<std::filesystem::path> ignore_files(const DataSettings& data);

/// As in the run file, for messages and records.
std::string source_text(const DataSettings& data);

/// The number of tokens by the files' sizes and headers alone; null if a file is missing or not a regular file.
std::optional<std::int64_t> tokens_by_size(const DataSettings& data);

/// Throws InputError if a step needs more tokens than there are.
void refuse_short_source(const DataSettings& data, std::int64_t available, std::int64_t needed);

}  // namespace plumbline
