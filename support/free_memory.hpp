// SPDX-License-Identifier: BSD-3-Clause
// How much memory can still be taken, on this machine and in this process' control groups.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace plumbline {

/// The least of what Linux calls available (/proc/meminfo), what each control group of the process leaves beside what
/// it has taken (its file cache apart, which goes when memory is wanted), and memory_limit(). `root`: in front of the
/// system's files, for tests.
std::int64_t free_memory(const std::filesystem::path& root = "/");

/// The number behind a word that begins a line, as /proc and control groups tell them; nothing where there is none.
std::optional<std::int64_t> number_behind(const std::filesystem::path& file, const std::string& word);

}  // namespace plumbline
