// SPDX-License-Identifier: BSD-3-Clause
// Quoting of commands for a POSIX shell.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

/// The word itself if it has only letters, digits and @%+=:,./_-; else in single quotes, or
/// with control characters in $'...', so that it stays on one line.
std::string shell_word(const std::string& word);

/// The words of a line as a shell separates them, without their quotes. Throws InputError for a quote that is not
/// closed, and for what only a shell does: ; & | < > ` $ outside of single quotes.
std::vector<std::string> shell_words(const std::string& line);

/// All words, quoted as necessary, joined by blanks.
std::string shell_command(const std::vector<std::string>& words);

}  // namespace plumbline
