// The verdict as CI systems read it: JUnit's XML.
#pragma once

#include <string>

#include "record/verdict.hpp"

namespace plumbline {

/// One test suite a cell and one test case a check, and the suite "sweep" with one test case "verdict" that is red
/// whenever the verdict is, so that no reason for a red verdict (a cell that never ran, say) can be lost on the way to
/// a CI system. fails, and required checks that were not run or not triggered: failure. not_applicable, and checks
/// nobody required: skipped.
std::string junit_xml(const Verdict& verdict);

}  // namespace plumbline
