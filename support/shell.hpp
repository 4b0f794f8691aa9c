// SPDX-License-Identifier: BSD-3-Clause
// Commands as text that a POSIX shell reads back to the same words.
#pragma once

#include <string>
#include <vector>

namespace plumbline {

/// The word as it stands where it holds nothing but letters, digits and @%+=:,./_-; else in single quotes.
std::string shell_word(const std::string& word);

/// All words, quoted where they have to be, with blanks between.
std::string shell_command(const std::vector<std::string>& words);

}  // namespace plumbline
