// SPDX-License-Identifier: BSD-3-Clause
// The failing cases for the terminal; the page has all details.
#pragma once

#include <cstddef>
#include <string>

#include "record/verdict.hpp"

namespace plumbline {

/// What is wrong and where: what was not compared, the first divergence, else the first blocking check. Without
/// digests.
std::string complaint(const CellVerdict& cell);

/// For a log: "holds", "INCOMPLETE" or "DOES NOT HOLD", with the complaint on a second line.
std::string progress_words(const CellVerdict& cell);

/// The failing cases, then the incomplete ones, grouped by equal text, and the command that runs one of them again.
/// Empty if all hold. `width`: the line width for the command.
std::string failing_cells(const Verdict& verdict, std::size_t width);

}  // namespace plumbline
