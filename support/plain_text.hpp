// SPDX-License-Identifier: BSD-3-Clause
// What every text file that we read must be, whatever its format: UTF-8 without control characters.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace plumbline {

/// "<line>:<column>" of the byte at `offset`, the column from 1, in characters, the line from `first_line`.
std::string place_in_text(std::string_view bytes, std::size_t offset, std::size_t first_line = 1);

/// Throws InputError with file, line and column at the first byte that is no UTF-8, or that is a control character
/// other than tab, line feed and carriage return. `path` is for the message, and so is the line that `bytes` begin
/// with.
void refuse_what_is_no_text(const std::filesystem::path& path, std::string_view bytes, std::size_t first_line = 1);

}  // namespace plumbline
