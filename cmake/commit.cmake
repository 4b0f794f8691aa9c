# SPDX-License-Identifier: BSD-3-Clause
# Runs at every build: writes the commit into a source file, which it touches only if the commit changed.
cmake_policy(VERSION 3.25)
execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=* WORKING_DIRECTORY "${SOURCE}"
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "") # empty outside a checkout
endif()
file(STRINGS "${SOURCE}/cmake/libtorch-wheels.txt" libtorch REGEX "^torch==")
string(REPLACE "torch==" "" libtorch "${libtorch}")
file(CONFIGURE OUTPUT "${WRITE}" @ONLY CONTENT [[
#include "support/commit.hpp"

std::string plumbline::source_commit() {
  return "@commit@";
}

std::string plumbline::project_version() {
  return "@VERSION@";
}

std::string plumbline::tested_libtorch() {
  return "@libtorch@";
}
]])
