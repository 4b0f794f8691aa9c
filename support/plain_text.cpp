// SPDX-License-Identifier: BSD-3-Clause
#include "support/plain_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

bool is_control(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return (value < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || value == 0x7F;
}

bool is_printable_ascii(std::string_view bytes) {
  bool printable = true;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    printable &= (value >= 0x20 && value < 0x7F) || value == '\n';
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
  if (is_printable_ascii(bytes)) return;  // the common case, without a branch per byte
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

}  // namespace plumbline
