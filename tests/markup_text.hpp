// SPDX-License-Identifier: BSD-3-Clause
// Parts of a page's text.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace plumbline::testing {

/// From the first `from` to the first `to` after it; fails the test if either is missing.
inline std::string section_of(const std::string& page, const std::string& from, const std::string& to) {
  const auto begin = page.find(from);
  const auto end = begin == std::string::npos ? begin : page.find(to, begin + from.size());
  if (end == std::string::npos) {
    ADD_FAILURE() << "no \"" << from << "\" before \"" << to << "\"";
    return "";
  }
  return page.substr(begin, end - begin);
}

inline std::size_t times_in(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

/// Removes the tags' attributes, to show only what is in which row and column.
inline std::string bare(const std::string& markup) {
  std::string text;
  bool in_tag = false, in_attributes = false, quoted = false;
  for (const char c : markup) {
    if (in_tag && c == '"') quoted = !quoted;
    if (c == '<') in_tag = true;
    if (in_tag && c == ' ') in_attributes = true;
    if (c == '>' && !quoted) in_tag = in_attributes = false;
    if (!in_attributes) text += c;
  }
  return text;
}

}  // namespace plumbline::testing
