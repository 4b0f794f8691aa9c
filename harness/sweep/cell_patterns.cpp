// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/cell_patterns.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <utility>

#include "support/error.hpp"

namespace plumbline {
namespace {

/// Edit distance to the nearest match of the pattern; 0 if it matches.
std::size_t distance(const std::string& pattern, const std::string& id) {
  std::vector<std::size_t> row(id.size() + 1);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = i;
  for (const char wanted : pattern) {
    std::size_t diagonal = row[0];
    const bool any = wanted == '*';
    if (!any) ++row[0];
    for (std::size_t i = 0; i < id.size(); ++i) {
      const std::size_t above = row[i + 1];
      const std::size_t taken = diagonal + (any || wanted == '?' || wanted == id[i] ? 0 : 1);
      row[i + 1] = std::min({row[i] + (any ? 0 : 1), above + (any ? 0 : 1), taken});
      diagonal = above;
    }
  }
  return row.back();
}

std::vector<std::string> parts_of(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const auto first = text.find_first_not_of(' ', begin);
    if (first < end) parts.push_back(text.substr(first, text.find_last_not_of(' ', end - 1) + 1 - first));
    begin = end + 1;
  }
  return parts;
}

/// A few similar ids, nearest first.
std::vector<std::string> near_ones(const std::string& wanted, const std::vector<std::string>& ids) {
  constexpr std::size_t most_named = 3;
  const auto literal = static_cast<std::size_t>(
      std::ranges::count_if(wanted, [](char letter) { return letter != '*' && letter != '?'; }));
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const auto& id : ids) {
    if (const std::size_t away = distance(wanted, id); away <= literal / 2) near.emplace_back(away, id);
  }
  std::ranges::stable_sort(near, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> named;
  for (const auto& [away, id] : near) {
    // options much further away than the nearest are unlikely
    if (named.size() < most_named && away <= near.front().first + 1) named.push_back("\"" + id + "\"");
  }
  return named;
}

}  // namespace

std::vector<std::string> cells_named(const std::vector<std::string>& wanted, const std::vector<std::string>& ids) {
  std::set<std::string> named;
  for (const auto& option : wanted) {
    if (std::ranges::find(ids, option) != ids.end()) {  // a run file's name may contain a comma
      named.insert(option);
      continue;
    }
    const auto patterns = parts_of(option);
    if (patterns.empty()) throw InputError("--cells: is empty; omit it to run all cases (--list prints them)");
    for (const auto& pattern : patterns) {
      bool matches = false;
      for (const auto& id : ids) {
        if (distance(pattern, id) > 0) continue;
        matches = true;
        named.insert(id);
      }
      if (!matches) refuse_unknown_cell("--cells", pattern, ids);
    }
  }
  std::vector<std::string> found;
  std::ranges::copy_if(ids, std::back_inserter(found), [&](const std::string& id) { return named.contains(id); });
  return found;
}

void refuse_unknown_cell(const std::string& where, const std::string& wanted, const std::vector<std::string>& ids) {
  const bool pattern = wanted.find_first_of("*?") != std::string::npos;
  const auto near = near_ones(wanted, ids);
  std::string meant;
  for (std::size_t i = 0; i < near.size(); ++i) {
    meant += (i == 0 ? "; did you mean " : i + 1 == near.size() ? " or " : ", ") + near[i];
  }
  throw InputError(where + ": \"" + wanted + "\" " + (pattern ? "matches no case" : "is not a case") +
                   " of this sweep" + (meant.empty() ? "" : meant + "?") + " (--list prints them all)");
}

}  // namespace plumbline
