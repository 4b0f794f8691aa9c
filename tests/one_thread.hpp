// SPDX-License-Identifier: BSD-3-Clause
// One compute thread for tests, however they are started.
#pragma once

#include <unistd.h>

#include <cstdlib>

namespace plumbline::testing {

/// First in main(): OpenMP reads the number when its library is loaded, so where nobody gave one the program starts
/// itself again with it. Several threads would need allocators and expected bits of their own.
inline void use_one_thread(char** argv) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
  ::setenv("OMP_NUM_THREADS", "1", 1);
  ::execv("/proc/self/exe", argv);  // where that fails the tests run with what there is
}

}  // namespace plumbline::testing
