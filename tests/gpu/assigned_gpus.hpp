// The GPUs that CTest has given a test, and what a test needs of them.
#pragma once

#include <string>

namespace plumbline::testing {

/// Shows this process, and what it starts, only the GPUs that CTest assigned (CTEST_RESOURCE_GROUP_*, numbers as in
/// `plumbline doctor --ctest-resources`). Nothing changes without an assignment. Before CUDA is started.
void take_assigned_gpus();

/// Why a test that needs this many GPUs cannot run here; empty when it can.
std::string why_not_on_gpus(int needed);

}  // namespace plumbline::testing
