// SPDX-License-Identifier: BSD-3-Clause
// A verdict in a word, a line and a sentence, for page, JUnit and the programs' last lines.
// None claims more than was requested and run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/verdict.hpp"

namespace plumbline {

/// "receives were not recorded (torch 2.16.0)": what the recorders could not see of a case's runs, with torch's version
/// if their reasons name it. Empty if they saw everything.
std::string not_recorded_words(const Verdict& verdict);

/// True if the verdict does not hold only because cases were not compared in full.
bool is_incomplete(const Verdict& verdict);

/// "not compared in full, as accepted: gradients"; empty if nothing was accepted.
std::string accepted_words(const Verdict& verdict);

/// "Holds", "Holds in part" for a selection that holds, "Incomplete", "Does not hold"; for one that holds and lacks
/// rows "Holds, but receives were not recorded (torch 2.16.0)".
std::string verdict_word(const Verdict& verdict);

/// The mark in front of the headline: of a verdict that holds, is incomplete, or does not hold.
std::string verdict_sign(const Verdict& verdict);

/// "Holds: 123 of 123 cases", "Holds in part: 3 of 123 cases", "Does not hold: 2 of 4 cases hold, 1 unstable, 1 not
/// run", "Does not hold: 0 of 1 case holds, of 6 in the sweep", "Holds in part: 6 of 6 cases, 2 of 15 checks", and
/// "(within calibrated limits, not in bits)" if it applies.
std::string headline(const Verdict& verdict);

/// "3 of 123 cases, all checks": what was requested.
std::string selection_words(const Verdict& verdict);

/// The claim in one or two sentences. It states that bits are the same only if every comparison of values was requested
/// and holds in every case.
std::string claim(const Verdict& verdict);

/// Whether the check was requested; completion and as_asked always are.
bool asked_for(const Verdict& verdict, const CheckResult& check);

/// Faults that the references' data cannot show, in one line; empty if none, or if the sweep file accepts them.
std::string data_gaps(const Verdict& verdict);

/// "6 cases not run: <why>", a line for each reason; "<id> not run: <why>" of one case.
std::vector<std::string> not_run_lines(const Verdict& verdict);

/// "135 cases ran, 1 not applicable".
std::string ran_words(const Verdict& verdict);

/// "cd DIR && <command>", if the verdict names the folder that its commands are for.
std::string from_its_folder(const Verdict& verdict, const std::string& command);

/// A text of the verdict's `harness`: `commit` of the judge (empty for a build outside a checkout), `your_commit`.
std::optional<std::string> harness_text(const Verdict& verdict, const char* key);

/// The time of all runs together.
double run_seconds(const Verdict& verdict);

}  // namespace plumbline
