// SPDX-License-Identifier: BSD-3-Clause
// Who is waited for now, told to whoever shows it.
#pragma once

#include <functional>

namespace plumbline {

using WaitsFor = std::function<void(int peer)>;

}  // namespace plumbline
