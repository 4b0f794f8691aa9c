// SPDX-License-Identifier: BSD-3-Clause
#include "tests/paths.hpp"

namespace plumbline::testing {

std::string source_path() {
  return PLUMBLINE_SOURCE;
}

std::string fixtures_path() {
  return PLUMBLINE_SOURCE "/fixtures";
}

std::string bin_path() {
  return PLUMBLINE_BIN;
}

}  // namespace plumbline::testing
