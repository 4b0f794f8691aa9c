// SPDX-License-Identifier: BSD-3-Clause
// Numbers and outcomes as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/verdict.hpp"

namespace plumbline {

/// "1,234,567".
std::string grouped(std::int64_t value);
/// "0.31 s", "12.4 s", "3 min 07 s".
std::string seconds_text(double seconds);
/// "0.0032": three significant figures.
std::string short_number(double value);
/// "1 case", "2 cases", "3 losses", "4 copies".
std::string count_text(std::int64_t count, const std::string& one);

/// "holds", "differs", "incomplete", "does not apply".
std::string outcome_words(Outcome outcome);
/// "incomplete (not required)", "incomplete (accepted)".
std::string outcome_and_weight(const CheckResult& check);
/// "12 of 14 checks hold", of those that apply.
std::string tally_text(const std::vector<CheckResult>& checks);
/// "holds", "incomplete", "unstable", "does not hold".
std::string case_state(const CellVerdict& cell);
/// The character in a square of the table, which needs no color.
std::string outcome_sign(Outcome outcome);

/// "640 tensors, 51,200 elements"; empty if nothing was counted.
std::string counts_text(const Counts& counts);
/// "1f1b, P = 4": identifies a case among those of one reference.
std::string run_label(const CellVerdict& cell);
/// "1f1b, [0, 2, 3, 0], level dump": the same without its size.
std::string schedule_label(const CellVerdict& cell);
/// "12.5 %" of 0.125.
std::string percent_of(double share);
/// "stories260k, adamw": the known ones.
std::string training_title(const std::string& model, const std::string& optimizer);
/// "stories260k, adamw, 1f1b, P = 4, balance [0, 2, 3, 0], run slow": the known parts.
std::string cell_title(const CellVerdict& cell);
/// Its ranks: "4"; with several replicas "2 x 4".
std::string size_text(const CellVerdict& cell);

}  // namespace plumbline
