// SPDX-License-Identifier: BSD-3-Clause
// From the commands in a sweep file to cells and the references that they share.
#pragma once

#include "harness/sweep/planned_run.hpp"

namespace plumbline {

/// A cell's id is "[<key>-<value>-...]<schedule>-w<world>": what the cell itself gives, then schedule and ranks. Cells
/// whose references' commands come out alike share one. Throws InputError: two cells of one id, a program that is not
/// there.
SweepPlan plan_of_commands(const SweepFile& sweep);

}  // namespace plumbline
