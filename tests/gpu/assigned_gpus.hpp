// SPDX-License-Identifier: BSD-3-Clause
// What a test needs of GPUs.
#pragma once

#include <string>

namespace plumbline::testing {

/// Why a test that needs this many GPUs cannot run here; empty when it can.
std::string why_not_on_gpus(int needed);

}  // namespace plumbline::testing
