// SPDX-License-Identifier: BSD-3-Clause
// `plumbline record show DIR`: what a record holds, in words.
#pragma once

#include <filesystem>
#include <string>

namespace plumbline {

/// Read strictly, step by step. Throws InputError for what is no record, or not as docs/record-format.md says.
std::string shown_record(const std::filesystem::path& path);

}  // namespace plumbline
