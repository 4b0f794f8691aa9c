// SPDX-License-Identifier: BSD-3-Clause
// From the commands of a sweep file to cases and their shared references.
#pragma once

#include "harness/sweep/planned_run.hpp"

namespace plumbline {

/// A case's id is "[<key>-<value>-...]<schedule>-w<world>": the case's own values, then schedule and ranks. Cases with
/// equal reference commands share the reference. Throws InputError: two cases of one id, a missing program.
SweepPlan plan_of_commands(const SweepFile& sweep);

}  // namespace plumbline
