// SPDX-License-Identifier: BSD-3-Clause
// The verdict as JUnit XML for CI systems.
#pragma once

#include <string>

#include "record/verdict.hpp"
#include "reports/evidence.hpp"

namespace plumbline {

/// One test suite per reference and case, one test case per check, and the suite "sweep" with one test case "verdict"
/// that fails whenever the verdict does, so that no reason (such as a case that never ran) can be lost on
/// the way to a CI system.
///
/// A suite's name is "<run>/<optimizer>/<schedule>/P<world>", with "/balance-2-0-3" and "/<variant>" if the case has
/// one: it never depends on the case's position, so that a CI system recognizes it when cases are added. A
/// run that did not end well is an <error>; checks that differ, and required ones that are incomplete, are
/// <failure>s (skipped after a run that did not end well, because they add nothing); other checks that do not hold are
/// <skipped>. The end of a run's standard error is its <system-out>.
std::string junit_xml(const Verdict& verdict, const LaunchEvidences& launches = {});

/// "stories260k-adamw/adamw/1f1b/P4".
std::string suite_name(const CellVerdict& cell);

}  // namespace plumbline
