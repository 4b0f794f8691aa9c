// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/user_commands.hpp"

#include <functional>

#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// Calls `plain` for each literal character and `named` for each name in braces.
void walk_text(const std::string& text, const std::function<void(char)>& plain,
               const std::function<void(const std::string&)>& named) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c != '{' && c != '}') {
      plain(c);
      continue;
    }
    if (at + 1 < text.size() && text[at + 1] == c) {
      plain(c);
      ++at;
      continue;
    }
    const auto end = c == '{' ? text.find_first_of("{}", at + 1) : std::string::npos;
    if (end == std::string::npos || text[end] == '{') {
      throw InputError("\"" + text + "\": a " + std::string(1, c) + " alone; write " + std::string(2, c) +
                       " for a literal one");
    }
    named(text.substr(at + 1, end - at - 1));
    at = end;
  }
}

}  // namespace

std::vector<std::string> placeholders_in(const std::string& text) {
  std::vector<std::string> names;
  walk_text(
      text, [](char) {}, [&](const std::string& name) { names.push_back(name); });
  return names;
}

std::string filled_in(const std::string& text, const Placeholders& values) {
  std::string filled;
  walk_text(
      text, [&](char c) { filled += c; },
      [&](const std::string& name) {
        const auto found = values.find(name);
        if (found != values.end()) {
          filled += found->second;
          return;
        }
        std::vector<std::string> known;
        for (const auto& [each, value] : values) known.push_back(each);
        const auto nearest = nearest_word(name, known);
        for (auto& each : known) each = "{" + each + "}";
        throw InputError("\"" + text + "\": there is no placeholder {" + name + "}" +
                         (nearest ? "; did you mean {" + *nearest + "}?" : ".") + " There are " + join(known, ", ") +
                         "; {{ and }} are literal braces");
      });
  return filled;
}

}  // namespace plumbline
