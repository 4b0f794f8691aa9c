// SPDX-License-Identifier: BSD-3-Clause
// `plumbline record show DIR`: a summary of a record.
#pragma once

#include <filesystem>
#include <string>

namespace plumbline {

/// Reads strictly, step by step. Throws InputError for what is not a record by docs/record-format.md.
std::string shown_record(const std::filesystem::path& path);

}  // namespace plumbline
