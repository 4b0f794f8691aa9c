// SPDX-License-Identifier: BSD-3-Clause
// A port for the ranks' rendezvous.
#pragma once

#include <cstdint>

namespace plumbline {

/// A port of the loopback interface that is currently free. Throws SystemError if there is none.
std::int64_t free_port();

}  // namespace plumbline
