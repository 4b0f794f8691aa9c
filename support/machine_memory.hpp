// SPDX-License-Identifier: BSD-3-Clause
// What of this machine's memory a program may count on, and sums of sizes that cannot wrap on the way to that number.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>

namespace plumbline {

/// Bytes: the machine's memory, or less where the container's or the shell's limit (ulimit -v) says so.
std::int64_t memory_limit();

/// "1.25 MiB"; below 1 KiB "512 B". Three significant figures.
std::string bytes_text(std::int64_t bytes);

/// Throws SystemError with both numbers when `bytes` are more than memory_limit(). `what`: "data.lengths of 16 rows".
void require_memory(std::int64_t bytes, const std::string& what);

/// Sums and products of sizes, none of them negative. What is beyond 2^63 - 1 becomes 2^63 - 1, so that a size too
/// large to be counted is still larger than any memory.
std::int64_t sum_of_sizes(std::initializer_list<std::int64_t> sizes);
std::int64_t product_of_sizes(std::initializer_list<std::int64_t> sizes);

}  // namespace plumbline
