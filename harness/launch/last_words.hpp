// SPDX-License-Identifier: BSD-3-Clause
// What a program said last on its standard error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>

namespace plumbline {

/// The last line of `output` that the program itself wrote ("<program>: ...", or a rank's "rank 2 ended the run: ..."),
/// else the last that is neither blank nor a rule of dashes; empty when there is none. Launchers put banners behind
/// what ranks said. An empty `program` is one whose name is not known. `most_bytes`: what stands behind so many is not
/// looked at.
std::string last_words(const std::filesystem::path& output, const std::string& program,
                       std::uintmax_t most_bytes = std::numeric_limits<std::uintmax_t>::max());

/// Whether such a line is the program's own.
bool is_own_line(const std::string& line, const std::string& program);

}  // namespace plumbline
