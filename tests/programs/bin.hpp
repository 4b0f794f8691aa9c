// Where the programs lie that a test runs.
#pragma once

#include <cstdlib>
#include <string>

namespace plumbline::testing {

/// The folder of the programs: $PLUMBLINE_BIN where that is set (scripts/mutants sets it, to programs with a fault in
/// them), else where they were built.
inline std::string bin() {
  const char* folder = std::getenv("PLUMBLINE_BIN");
  return folder ? folder : PLUMBLINE_BIN;
}

}  // namespace plumbline::testing
