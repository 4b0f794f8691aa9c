// SPDX-License-Identifier: BSD-3-Clause
#include "support/shell.hpp"

#include <fmt/format.h>

#include <string_view>

#include "support/error.hpp"
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

std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool separates = quote == 0 && (c == ' ' || c == '\t' || c == '\n');
    if (!separates && !in_word) words.emplace_back();
    in_word = !separates;
    if (separates) continue;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      words.back() += line[++i];
    } else if (std::string_view(quote == 0 ? ";&|<>`$" : quote == '"' ? "`$" : "").find(c) != std::string_view::npos) {
      throw InputError(
          fmt::format("\"{}\": {} is for a shell, and a command is started without one; quote it, or give "
                      "sh -c '...'",
                      line, c));
    } else {
      words.back() += c;
    }
  }
  if (quote != 0) throw InputError(fmt::format("\"{}\": a quote ({}) is not closed", line, quote));
  return words;
}

std::string shell_command(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + shell_word(word);
  return text;
}

}  // namespace plumbline
