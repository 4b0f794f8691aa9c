// SPDX-License-Identifier: BSD-3-Clause
// The memory that a program may use on this machine, and saturating sums and products of sizes to compare with it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace plumbline {

/// Bytes of the machine's memory, or of a lower limit of the container or the shell (ulimit -v).
std::int64_t memory_limit();

/// "1.25 MiB"; below 1 KiB "512 B". Three significant figures.
std::string bytes_text(std::int64_t bytes);

/// Throws SystemError with both numbers if `bytes` exceed memory_limit(). `what`: "data.lengths of 16 rows".
void require_memory(std::int64_t bytes, const std::string& what);

/// Saturating sums and products of non-negative sizes: results above 2^63 - 1 become 2^63 - 1, which exceeds any
/// memory.
std::int64_t sum_of_sizes(std::initializer_list<std::int64_t> sizes);
std::int64_t product_of_sizes(std::initializer_list<std::int64_t> sizes);

}  // namespace plumbline
