// SPDX-License-Identifier: BSD-3-Clause
// A port for ranks to meet at.
#pragma once

#include <cstdint>

namespace plumbline {

/// Of this machine's loopback, free at the moment. Throws SystemError where there is none.
std::int64_t free_port();

}  // namespace plumbline
