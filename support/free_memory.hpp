// SPDX-License-Identifier: BSD-3-Clause
// Memory that is still available on this machine and in this process' control groups.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace plumbline {

/// Minimum of Linux' available memory (/proc/meminfo), what each control group of the process leaves of its limit (not
/// counting file cache, which is reclaimed on demand), and memory_limit(). `root`: prefix of the system's files, for
/// tests.
std::int64_t free_memory(const std::filesystem::path& root = "/");

/// The number after the word at the beginning of a line, as in /proc and control groups; nullopt if there is none.
std::optional<std::int64_t> number_behind(const std::filesystem::path& file, const std::string& word);

}  // namespace plumbline
