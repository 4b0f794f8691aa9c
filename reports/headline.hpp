// SPDX-License-Identifier: BSD-3-Clause
// What a verdict comes to, in a word, a line and a sentence; page, JUnit and the programs' last lines say the same.
// None of them claims more than was asked for and run.
#pragma once

#include <string>
#include <vector>

#include "record/verdict.hpp"

namespace plumbline {

/// "receives were not recorded (torch 2.16.0)": what the recorders could not see of a cell's runs. Empty where they saw
/// everything.
std::string not_recorded_words(const Verdict& verdict);

/// "Holds", "Holds in part" of a selection that holds, "Does not hold"; of one that holds and lacks rows "Holds, but
/// receives were not recorded (torch 2.16.0)".
std::string verdict_word(const Verdict& verdict);

/// "Holds: 123 of 123 cells", "Holds in part: 3 of 123 cells", "Does not hold: 2 of 4 cells hold, 1 unstable, 1 not
/// run", "Holds in part: 6 of 6 cells, 2 of 15 checks", and "(within calibrated limits, not in bits)" where it is so.
std::string headline(const Verdict& verdict);

/// What was shown, in a sentence or two. That bits are the same is said only where every comparison of values was asked
/// for and holds in every cell.
std::string claim(const Verdict& verdict);

/// Whether the check was among those asked for; completion and as_asked always are.
bool asked_for(const Verdict& verdict, const CheckResult& check);

/// What the references' data cannot show, one line a reference; nobody required it, or it would stand in the way.
std::vector<std::string> warnings(const Verdict& verdict);

}  // namespace plumbline
