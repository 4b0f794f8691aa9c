// SPDX-License-Identifier: BSD-3-Clause
#include "support/shell.hpp"

#include <fmt/format.h>

#include "support/plain_text.hpp"

namespace plumbline {

std::string shell_word(const std::string& word) {
  constexpr const char* plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@%+=:,./_-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  if (!is_printable(word)) {  // as bash and zsh read it, on one line
    std::string quoted = "$'";
    for (const char c : word) {
      const auto byte = static_cast<unsigned char>(c);
      if (c == '\'' || c == '\\') quoted += '\\';
      quoted += byte >= 0x20 && byte < 0x7F ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
    }
    return quoted + "'";
  }
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string shell_command(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

}  // namespace plumbline
