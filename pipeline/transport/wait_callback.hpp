// SPDX-License-Identifier: BSD-3-Clause
// Callback that is told which rank is waited for.
#pragma once

#include <functional>

namespace plumbline {

using WaitCallback = std::function<void(int peer)>;

}  // namespace plumbline
