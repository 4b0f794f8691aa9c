// SPDX-License-Identifier: BSD-3-Clause
// Called with the rank that is waited for.
#pragma once

#include <functional>

namespace plumbline {

using WaitCallback = std::function<void(int peer)>;

}  // namespace plumbline
