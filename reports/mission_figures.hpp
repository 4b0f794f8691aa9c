// SPDX-License-Identifier: BSD-3-Clause
// What the cases of each world size showed beyond equal values: empty stages, lengths, gradients, memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "record/verdict.hpp"

namespace plumbline {

/// Of all cases of one world size.
struct MissionFigures {
  std::int64_t world = 0, cases = 0;
  std::int64_t empty_crossings = 0;  ///< tensors compared that went into or out of a stage without units
  std::int64_t lengths = 0;          ///< the most distinct sequence lengths within a step
  std::int64_t parameters = 0;  ///< the most parameters of a case with a finite gradient that is not zero in some step
  std::int64_t heads = 0;       ///< cases in which lm_head.weight is one of these
  std::int64_t peak_permille = 0;  ///< the largest activation peak of a rank, relative to the memory model's
};

/// By world size, ascending.
std::vector<MissionFigures> mission_figures(const Verdict& verdict);

/// "3,120", "4", "47", "12 of 12 cases", "98.7 %"; "-" where nothing was measured.
std::vector<std::string> figure_texts(const MissionFigures& figures);

/// The headings of `figure_texts`.
const std::vector<std::string>& figure_heads();

}  // namespace plumbline
