// SPDX-License-Identifier: BSD-3-Clause
// The main of all test binaries that are one process.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/one_thread.hpp"

int main(int argc, char** argv) {
  plumbline::testing::use_one_thread(argv);
  ::setenv("COLUMNS", "10000", 0);  // messages are looked for in one line
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
