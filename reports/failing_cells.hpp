// SPDX-License-Identifier: BSD-3-Clause
// What is wrong in the cells that do not hold, for the terminal; the page says it with all details.
#pragma once

#include <cstddef>
#include <string>

#include "record/verdict.hpp"

namespace plumbline {

/// What is wrong and where: the first divergence, else the first check that is in the way. Without digests.
std::string complaint(const CellVerdict& cell);

/// "the activation differs in a single bit (1 of 4224 elements): a flipped bit ..."; empty where it was not looked for.
std::string looks_like(const CellVerdict& cell);

/// The cells that do not hold, those with the same words together, and the command that runs one of them again. Empty
/// where all hold. `width`: what a line may take, for the command.
std::string failing_cells(const Verdict& verdict, std::size_t width);

}  // namespace plumbline
