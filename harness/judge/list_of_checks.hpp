// SPDX-License-Identifier: BSD-3-Clause
// The descriptors of checks/*_check.cpp, in any order. The build writes list_of_checks.cpp (cmake/PlumblineChecks.cmake).
#pragma once

#include <vector>

#include "harness/judge/checks/checks.hpp"

namespace plumbline::judging {

std::vector<CheckDescriptor> list_of_checks();

}  // namespace plumbline::judging
