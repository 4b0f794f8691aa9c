// SPDX-License-Identifier: BSD-3-Clause
// Time limits of a transport.
#pragma once

#include <chrono>

namespace plumbline {

struct TransportSettings {
  std::chrono::milliseconds timeout{30000};  ///< within a step
  /// For `connect`, and if `starting` for all waits until Transport::enter_steps: ranks start seconds apart, load
  /// models of different sizes, and libraries take time to initialize.
  std::chrono::milliseconds start_timeout{60000};
  bool starting = false;
  std::chrono::milliseconds save_timeout{60000};  ///< between Transport::leave_steps and enter_steps
  /// The clock of all waits.
  std::chrono::steady_clock::time_point (*now)() = [] { return std::chrono::steady_clock::now(); };
};

}  // namespace plumbline
