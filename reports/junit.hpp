// SPDX-License-Identifier: BSD-3-Clause
// The verdict as CI systems read it: JUnit's XML.
#pragma once

#include <string>

#include "record/verdict.hpp"
#include "reports/launch_evidence.hpp"

namespace plumbline {

/// One test suite a reference and a cell, one test case a check, and the suite "sweep" with one test case "verdict"
/// that is red whenever the verdict is, so that no reason for a red verdict (a cell that never ran, say) can be lost on
/// the way to a CI system.
///
/// A suite's name is "<run>/<optimizer>/<schedule>/P<world>", with "/balance-2-0-3" and "/<variant>" where the cell has
/// one: made of what a cell is and never of where it stands, so that a CI system knows it again when cells are added. A
/// run that did not end well is an <error>; fails, and required checks that were not run or not triggered, are
/// <failure>s (skipped behind a run that did not end well: they say nothing more); not_applicable, and checks that are
/// only told: <skipped>. The end of a run's standard error is its <system-out>.
std::string junit_xml(const Verdict& verdict, const LaunchEvidences& launches = {});

/// "stories260k-adamw/adamw/1f1b/P4".
std::string suite_name(const CellVerdict& cell);

}  // namespace plumbline
