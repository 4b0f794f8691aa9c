// SPDX-License-Identifier: BSD-3-Clause
// How long a transport waits.
#pragma once

#include <chrono>

namespace plumbline {

struct TransportSettings {
  std::chrono::milliseconds timeout{30000};  ///< of a step
  /// For `connect`, and where `starting` for all else until Transport::start_steps: ranks come seconds apart, load
  /// models of different sizes, and libraries take their time.
  std::chrono::milliseconds start_timeout{60000};
  bool starting = false;
  bool several_hosts = false;  ///< then ranks that wait for long tell each other (WaitNotes)
};

}  // namespace plumbline
