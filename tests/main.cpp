// SPDX-License-Identifier: BSD-3-Clause
// The main of all test binaries that are one process.
#include <gmock/gmock.h>

#include "tests/one_thread.hpp"

int main(int argc, char** argv) {
  plumbline::testing::use_one_thread(argv);
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
