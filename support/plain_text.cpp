// SPDX-License-Identifier: BSD-3-Clause
#include "support/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

bool is_control(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return (value < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || value == 0x7F;
}

/// `also`: a further byte that is allowed.
bool is_printable_ascii(std::string_view bytes, char also = ' ') {
  bool printable = true;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    printable &= (value >= 0x20 && value < 0x7F) || byte == also;
  }
  return printable;
}

/// True for a continuation byte in UTF-8.
bool continues_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// Start of the character that contains the byte at `offset`; a stray byte is a character by itself.
std::size_t character_at(std::string_view bytes, std::size_t offset) {
  std::size_t begin = offset;
  while (begin > 0 && begin < bytes.size() && continues_character(bytes[begin])) --begin;
  const bool leads = begin < bytes.size() && static_cast<unsigned char>(bytes[begin]) >= 0xC0U;
  return leads ? begin : offset;
}

/// Code point of the character at the start of `bytes`, which must be valid UTF-8 of more than one byte.
std::uint32_t code_point(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes.front());
  std::uint32_t code = lead >= 0xF0U ? lead & 0x07U : lead >= 0xE0U ? lead & 0x0FU : lead & 0x1FU;
  for (const char byte : bytes.substr(1)) code = code << 6U | (static_cast<unsigned char>(byte) & 0x3FU);
  return code;
}

/// Characters beyond ASCII that terminals act on or that reorder or hide text: C1 controls, separators of lines, marks
/// of direction, the byte order mark.
bool acts(std::uint32_t code) {
  const auto within = [code](std::uint32_t first, std::uint32_t last) { return code >= first && code <= last; };
  return within(0x80, 0x9F) || code == 0x061C || within(0x200E, 0x200F) || within(0x2028, 0x202E) ||
         within(0x2066, 0x2069) || code == 0xFEFF;
}

std::string escaped_byte(char byte) {
  switch (byte) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      return fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
}

/// GitHub and Azure take a line for a command if it begins so, blanks aside, or holds "##[" or "##vso[".
bool is_command_of_ci(std::string_view line) {
  const std::string_view begun = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  return begun.starts_with("::") || line.find("##[") != line.npos || line.find("##vso[") != line.npos;
}

/// So that it is no command: escapes the first colon or hash sign of each.
std::string disarmed(std::string line) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  if (std::string_view(line).substr(begin).starts_with("::")) line.replace(begin, 1, "\\x3a");
  for (const char* opening : {"##[", "##vso["}) {
    for (std::size_t at = line.find(opening); at != line.npos; at = line.find(opening, at))
      line.replace(at, 1, "\\x23");
  }
  return line;
}

}  // namespace

std::string place_in_text(std::string_view bytes, std::size_t offset, std::size_t first_line) {
  const std::string_view before = bytes.substr(0, character_at(bytes, std::min(offset, bytes.size())));
  const std::size_t line_start = before.rfind('\n') + 1;  // 0 in the first line
  const auto line = first_line + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const auto column = 1 + std::count_if(before.begin() + static_cast<std::ptrdiff_t>(line_start), before.end(),
                                        [](char byte) { return !continues_character(byte); });
  return fmt::format("{}:{}", line, column);
}

void refuse_what_is_no_text(const std::filesystem::path& path, std::string_view bytes, std::size_t first_line) {
  if (is_printable_ascii(bytes, '\n')) return;  // the common case, without a branch per byte
  const auto control = std::find_if(bytes.begin(), bytes.end(), is_control);
  const auto first_control = static_cast<std::size_t>(control - bytes.begin());
  const auto invalid = first_invalid_utf8(bytes.substr(0, first_control));
  if (!invalid && control == bytes.end()) return;
  const std::size_t offset = invalid.value_or(first_control);
  throw InputError(
      fmt::format("{}:{}: the byte 0x{:02X} is {}", path.string(), place_in_text(bytes, offset, first_line),
                  static_cast<unsigned char>(bytes[offset]),
                  invalid ? "not UTF-8; convert the file to UTF-8"
                          : "a control character, which a text cannot hold; the file is damaged or not a text"));
}

std::string printable(std::string_view text) {
  if (is_printable_ascii(text)) return std::string(text);
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    const auto value = static_cast<unsigned char>(rest.front());
    const std::size_t length = utf8_length(text, at);
    at += std::max<std::size_t>(length, 1);
    if (length == 0 || value < 0x20 || value == 0x7F)
      shown += escaped_byte(rest.front());
    else if (length > 1 && acts(code_point(rest.substr(0, length))))
      shown += fmt::format("\\u{:04x}", code_point(rest.substr(0, length)));
    else
      shown += rest.substr(0, length);
  }
  return shown;
}

bool is_printable(std::string_view text) {
  return is_printable_ascii(text) || printable(text) == text;
}

std::string printable_lines(std::string_view text) {
  std::string shown;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const std::string plain = printable(line);
    shown += is_command_of_ci(plain) ? disarmed(plain) : plain;
    if (end < text.size()) shown += '\n';
    begin = end + 1;
  }
  return shown;
}

}  // namespace plumbline
