// SPDX-License-Identifier: BSD-3-Clause
// One compute thread for tests, however they are started.
#pragma once

#include <unistd.h>

#include <cstdlib>

namespace plumbline::testing {

/// Call first in main(). OpenMP reads the number when its library is loaded, so if it is unset the program sets it and
/// restarts itself. Several threads would need other allocators and other expected bits.
inline void use_one_thread(char** argv) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
  ::setenv("OMP_NUM_THREADS", "1", 1);
  ::execv("/proc/self/exe", argv);  // if that fails, the tests run with the default number
}

}  // namespace plumbline::testing
