// SPDX-License-Identifier: BSD-3-Clause
#include "support/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "support/numbers.hpp"
#include "support/plain_text.hpp"

namespace plumbline {
namespace {

constexpr std::size_t usual_width = 80, least_width = 20, digest_digits = 32;

Colors chosen = Colors::where_terminal;

/// Number of code points, an approximation of the shown width.
std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::size_t indentation(std::string_view line, std::size_t width) {
  const std::size_t own = std::min(line.find_first_not_of(' '), line.size());
  std::size_t column = own + 2;
  for (std::size_t at = line.find("  ", own); at != std::string_view::npos; at = line.find("  ", at)) {
    at = std::min(line.find_first_not_of(' ', at), line.size());
    if (at <= width / 2) column = at;
  }
  return column;
}

void wrap_line(std::string_view line, std::size_t width, std::string& text) {
  const std::string further(indentation(line, width), ' ');
  std::size_t least = std::min(line.find_first_not_of(' '), line.size());  // do not break within the indentation
  std::string head;
  while (columns_of(line) + head.size() > width) {
    std::size_t end = std::string_view::npos;  // the last blank within the width, else the first one after it
    for (std::size_t at = line.find(' ', least); at != std::string_view::npos; at = line.find(' ', at + 1)) {
      const bool fits = columns_of(line.substr(0, at)) + head.size() <= width;
      if (fits || end == std::string_view::npos) end = at;
      if (!fits) break;
    }
    if (end == std::string_view::npos) break;
    const std::string_view kept = line.substr(0, end);
    text.append(head).append(kept.substr(0, kept.find_last_not_of(' ') + 1)).append("\n");
    line.remove_prefix(std::min(line.find_first_not_of(' ', end), line.size()));
    head = further;
    least = 0;
  }
  if (!line.empty() || head.empty()) text.append(head).append(line);
}

template <class Change>
std::string by_line(const std::string& text, Change change) {
  std::string changed;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    change(std::string_view(text).substr(begin, end - begin), changed);
    if (end < text.size()) changed += '\n';
    begin = end + 1;
  }
  return changed;
}

std::size_t hex_digits(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789abcdef"), text.size());
}

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

constexpr const char *red = "31", *green = "32", *yellow = "33";
/// Longer words come before their prefixes. For words with blanks around them the blanks are not colored.
constexpr std::array<std::pair<std::string_view, const char*>, 15> words = {{{"DOES NOT HOLD", red},
                                                                             {"NOT USABLE", red},
                                                                             {"FAILED", red},
                                                                             {"UNSTABLE", yellow},
                                                                             {"VERDICTS EQUAL", yellow},
                                                                             {"CHANGED AS ALLOWED", yellow},
                                                                             {"CHANGED", red},
                                                                             {"HOLDS IN PART", green},
                                                                             {"HOLDS", green},
                                                                             {"USABLE", green},
                                                                             {"EQUAL", green},
                                                                             {"warning:", yellow},
                                                                             {"  holds", green},
                                                                             {"  fails", red},
                                                                             {"  not run", yellow}}};

void color_line(std::string_view line, std::string& text) {
  for (const auto& [word, color] : words) {
    const std::size_t at = line.find(word), end = at + word.size();
    if (at == std::string_view::npos) continue;
    if ((at > 0 && is_word(line[at - 1]) && word.front() != ' ') || (end < line.size() && is_word(line[end]))) continue;
    const std::size_t begin = line.find_first_not_of(' ', at);
    text.append(line.substr(0, begin)).append("\x1b[").append(color).append("m");
    text.append(line.substr(begin, end - begin)).append("\x1b[0m").append(line.substr(end));
    return;
  }
  text.append(line);
}

}  // namespace

std::optional<std::size_t> terminal_width(std::FILE* out) {
  winsize size{};
  if (::isatty(::fileno(out)) != 1) return std::nullopt;
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual_width;
  return std::max<std::size_t>(size.ws_col, least_width);
}

std::size_t line_width(std::FILE* out) {
  if (const auto width = terminal_width(out)) return *width;
  const char* columns = std::getenv("COLUMNS");
  const auto given = columns != nullptr ? parse_integer(columns) : std::nullopt;
  if (!given || *given <= 0) return no_limit;
  return std::max(static_cast<std::size_t>(*given), least_width);
}

std::string wrapped(const std::string& text, std::size_t width) {
  return by_line(text, [&](std::string_view line, std::string& to) { wrap_line(line, width, to); });
}

std::string wrapped_command(const std::string& command, std::size_t width, std::size_t indent) {
  constexpr char quoted_blank = '\x01';
  std::string words = command, text;
  bool quoted = false;
  for (char& c : words) {
    if (c == '\'') quoted = !quoted;
    if (c == ' ' && quoted) c = quoted_blank;
  }
  for (const char c : wrapped(std::string(indent, ' ') + words, width - 2)) {
    if (c == '\n') text += " \\";
    text += c == quoted_blank ? ' ' : c;
  }
  return text;
}

std::string without_digests(const std::string& text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    constexpr std::string_view expected = " (expected ", got = ", got ";
    constexpr std::size_t second = expected.size() + digest_digits + got.size();
    if (rest.starts_with(expected) && hex_digits(rest.substr(expected.size())) == digest_digits &&
        rest.substr(expected.size() + digest_digits).starts_with(got) &&
        hex_digits(rest.substr(second)) == digest_digits && rest.substr(second + digest_digits).starts_with(")")) {
      at += second + digest_digits + 1;
      continue;
    }
    const bool begins = at == 0 || !is_word(text[at - 1]);
    if (begins && hex_digits(rest) == digest_digits &&
        (rest.size() == digest_digits || !is_word(rest[digest_digits]))) {
      shown.append(rest.substr(0, 8)).append("...");
      at += digest_digits;
      continue;
    }
    shown += text[at++];
  }
  return shown;
}

void choose_colors(Colors colors) {
  chosen = colors;
}

bool shows_colors(std::FILE* out) {
  if (chosen != Colors::where_terminal) return chosen == Colors::always;
  const char *no = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  if ((no != nullptr && *no != '\0') || (terminal != nullptr && std::string_view(terminal) == "dumb")) return false;
  return ::isatty(::fileno(out)) == 1;
}

std::string colored(const std::string& text) {
  return by_line(text, color_line);
}

std::string for_people(const std::string& text, std::FILE* out) {
  const std::string fitting = wrapped(without_digests(printable_lines(text)), line_width(out));
  return shows_colors(out) ? colored(fitting) : fitting;
}

void print_text(const std::string& text, std::FILE* out) {
  std::fputs(for_people(text, out).c_str(), out);
  std::fflush(out);
}

}  // namespace plumbline
