// What a program said last on its standard error.
#pragma once

#include <filesystem>
#include <string>

namespace plumbline {

/// The last line of `output` that the program itself wrote ("<program>: ...", or a rank's "rank 2 ended the run: ..."),
/// else the last that is neither blank nor a rule of dashes; empty when there is none. Launchers put banners behind
/// what ranks said. An empty `program` is one whose name is not known.
std::string last_words(const std::filesystem::path& output, const std::string& program);

/// Whether such a line is the program's own.
bool is_own_line(const std::string& line, const std::string& program);

}  // namespace plumbline
