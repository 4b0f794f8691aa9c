// SPDX-License-Identifier: BSD-3-Clause
// The memory that a program may use on this machine and what is free of it, and saturating sums and products of sizes
// to compare with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>

namespace plumbline {

/// Bytes of the machine's memory, or of a lower limit of the container or the shell (ulimit -v).
std::int64_t memory_limit();

/// Free memory: the minimum of Linux' available memory (/proc/meminfo), what each control group of the process leaves
/// of its limit (not counting file cache, which is reclaimed on demand), and memory_limit(). `root`: prefix of the
/// system's files, for tests.
std::int64_t free_memory(const std::filesystem::path& root = "/");

/// The number after the word at the beginning of a line, as in /proc and control groups; nullopt if there is none.
std::optional<std::int64_t> number_behind(const std::filesystem::path& file, const std::string& word);

/// "1.25 MiB"; below 1 KiB "512 B". Three significant figures.
std::string bytes_text(std::int64_t bytes);

/// Throws SystemError with both numbers if `bytes` exceed memory_limit(). `what`: "data.lengths of 16 rows".
void require_memory(std::int64_t bytes, const std::string& what);

/// Saturating sums and products of non-negative sizes: results above 2^63 - 1 become 2^63 - 1, which exceeds any
/// memory.
std::int64_t sum_of_sizes(std::initializer_list<std::int64_t> sizes);
std::int64_t product_of_sizes(std::initializer_list<std::int64_t> sizes);

}  // namespace plumbline
