// SPDX-License-Identifier: BSD-3-Clause
#include "harness/commands/checks_page.hpp"

#include <sstream>

#include "harness/judge/check_table.hpp"

namespace plumbline {
namespace {

/// One item of a list, wrapped.
std::string item_of(const std::string& heading, const std::string& words) {
  constexpr std::size_t width = 150;
  std::istringstream all(words);
  std::string text, line = "* **" + heading + "**:";
  for (std::string word; all >> word;) {
    if (line.size() + 1 + word.size() > width) {
      text += line + "\n";
      line = " ";
    }
    line += " " + word;
  }
  return text + line + "\n";
}

}  // namespace

std::string checks_in_markdown() {
  std::string text;
  for (const auto& check : judging::all_checks()) {
    text += "## " + check.name + "\n" + item_of("Claims", check.claims) + item_of("Needs", check.needs_in_words);
    if (!check.reports.empty()) text += item_of("Reports", check.reports);
    text += item_of("Cannot see", check.cannot_see) + "\n";
  }
  text.pop_back();
  return text;
}

}  // namespace plumbline
