// SPDX-License-Identifier: BSD-3-Clause
// The text that `plumbline compare` prints for a verdict on one case.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "record/verdict.hpp"

namespace plumbline {

enum class Detail : std::int8_t { summary, all };

/// Verdict, first divergence with its size, the checks that differ, what was not compared, what to do next.
/// `summary`: at 80 columns at most 20 lines; longer texts are cut and end with "...". `all`: every check, every gap.
/// `page`: the folder of the comparison's report, if there is one.
std::string comparison_text(const Verdict& verdict, Detail detail = Detail::all,
                            const std::optional<std::filesystem::path>& page = std::nullopt);
std::string comparison_text(const CellVerdict& cell);

/// "59 differences: step 1, stage 0, rank 0, parameter embed.weight: the bits differ": what a check found.
std::string difference_words(const CheckResult& check, const CellVerdict& cell);

}  // namespace plumbline
