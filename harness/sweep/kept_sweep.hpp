// SPDX-License-Identifier: BSD-3-Clause
// The plan of a sweep in its sweep.json, so that its records can be rejudged without the original files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/judge/judge.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "harness/sweep/sweep_plan.hpp"
#include "record/verdict.hpp"

namespace plumbline {

struct KeptReference {
  std::string id, run, model, optimizer;
  bool bench = false;          ///< one of its cases requires data coverage
  bool equal_lengths = false;  ///< all of its cases request equal lengths
};

struct KeptSweep {
  std::string name;
  std::string file;                    ///< XXH3-128 of the sweep file's bytes
  std::vector<std::string> all_cells;  ///< ids of all its cases, in order
  ComparisonMode comparison_mode = ComparisonMode::bits;
  Selection selection;
  std::vector<std::string> not_applicable;
  bool accept_gaps = false;     ///< gaps of the data coverage are not reported
  std::string commit;           ///< of what is judged; empty if it is not known
  std::string folder;           ///< the working folder, which the cases' commands are for
  std::vector<CellPlan> cells;  ///< without findings

  /// In the order of their first cases, as in the plan.
  std::vector<KeptReference> references() const;
};

/// `all_cells`: ids of all cases of the sweep file, selected or not.
KeptSweep kept_sweep(const SweepFile& file, const SweepPlan& plan, const std::vector<std::string>& all_cells);

/// A case as the judge sees it, and its command.
Json to_json(const CellPlan& cell);
Json to_json(const KeptSweep& sweep);
/// Throws InputError naming the file.
KeptSweep read_kept_sweep(const std::filesystem::path& sweep_json);

}  // namespace plumbline
