// SPDX-License-Identifier: BSD-3-Clause
// A verdict stored with a digest, to be used later without its record: the digest detects damaged or edited files.
#pragma once

#include <filesystem>

#include "record/verdict.hpp"

namespace plumbline {

void write_kept_verdict(const std::filesystem::path& path, const Verdict& verdict);
/// Throws InputError if the file has no verdict or was modified.
Verdict read_kept_verdict(const std::filesystem::path& path);

}  // namespace plumbline
