// SPDX-License-Identifier: BSD-3-Clause
// Changes to a JSON value, as the cases of tests/approved write them.
#pragma once

#include <sstream>
#include <string>

#include "support/json.hpp"

namespace plumbline::testing {

/// Applies the change in each line: a JSON pointer and a new value, or only a pointer, which removes the key.
inline Json changed(Json json, const std::string& changes) {
  std::istringstream lines(changes);
  for (std::string line; std::getline(lines, line);) {
    const auto space = line.find(' ');
    const Json::json_pointer at(line.substr(0, space));
    if (space != std::string::npos) {
      json[at] = Json::parse(line.substr(space + 1));
    } else {
      json[at.parent_pointer()].erase(at.back());
    }
  }
  return json;
}

}  // namespace plumbline::testing
