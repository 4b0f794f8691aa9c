// SPDX-License-Identifier: BSD-3-Clause
// GPUs available to a test.
#pragma once

#include <string>

namespace plumbline::testing {

/// Why a test that needs this many GPUs cannot run here; empty if it can.
std::string why_not_on_gpus(int needed);

}  // namespace plumbline::testing
