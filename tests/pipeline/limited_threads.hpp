// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are threads of a test wait seconds for each other, not the ten minutes of a run file. If a fault makes one
// hang, its test ends and names the message that did not come.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "pipeline/transport/threads_transport.hpp"

namespace plumbline {

inline std::vector<std::unique_ptr<Transport>> limited_threads(int world, TransportSettings settings) {
  constexpr std::chrono::milliseconds most = std::chrono::seconds(30);
  for (auto limit : {&TransportSettings::timeout, &TransportSettings::start_timeout, &TransportSettings::save_timeout})
    settings.*limit = std::min(settings.*limit, most);
  return make_threads_transports(world, settings);
}

}  // namespace plumbline
