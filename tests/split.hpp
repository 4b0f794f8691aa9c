// SPDX-License-Identifier: BSD-3-Clause
// Parts of a case's line.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace plumbline::testing {

/// The parts between separators, also empty ones, but none after a separator at the end.
inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

}  // namespace plumbline::testing
