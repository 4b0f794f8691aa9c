// SPDX-License-Identifier: BSD-3-Clause
#include "reports/markup.hpp"

#include "support/text.hpp"

namespace plumbline {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// U+FFFE and U+FFFF are valid UTF-8 but not XML characters.
bool is_noncharacter(std::string_view text, std::size_t at) {
  return text.substr(at, 2) == "\xEF\xBF" && at + 2 < text.size() && (text[at + 2] == '\xBE' || text[at + 2] == '\xBF');
}

void append_valid(std::string& out, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (is_noncharacter(text, i)) {
      out += replacement;
      i += 2;
    } else if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F) {
      out += replacement;
    } else {
      out += text[i];
    }
  }
}

}  // namespace

std::string valid_in_xml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (const auto invalid = first_invalid_utf8(text)) {
    append_valid(out, text.substr(0, *invalid));
    out += replacement;
    text.remove_prefix(*invalid + 1);
  }
  append_valid(out, text);
  return out;
}

std::string escaped(std::string_view text, const std::map<char, std::string_view>& escapes) {
  std::string out;
  for (const char c : valid_in_xml(text)) {
    const auto found = escapes.find(c);
    out += found == escapes.end() ? std::string(1, c) : std::string(found->second);
  }
  return out;
}

std::string xml_escape(std::string_view text) {
  static const std::map<char, std::string_view> escapes{
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}, {'\n', "&#10;"}, {'\t', "&#9;"}};
  return escaped(text, escapes);
}

}  // namespace plumbline
