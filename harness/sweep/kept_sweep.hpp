// SPDX-License-Identifier: BSD-3-Clause
// What a sweep set out to do, kept in its sweep.json, so that its records can be judged again without the files that it
// was made from.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "harness/sweep/sweep_plan.hpp"
#include "record/verdict.hpp"

namespace plumbline {

struct KeptReference {
  std::string id, run, model, optimizer;
  bool bench = false;          ///< a cell that is compared with it asks for data that let every fault be seen
  bool equal_lengths = false;  ///< every cell that is compared with it asks for equal lengths
};

struct KeptSweep {
  std::string name;
  std::string file;                    ///< XXH3-128 of the sweep file's bytes
  std::vector<std::string> all_cells;  ///< ids of all that it stands for, in its order; empty: an older version's
  Tier tier = Tier::bits;
  Selection selection;
  std::vector<std::string> not_applicable;
  std::vector<KeptReference> references;
  std::vector<CellPlan> cells;  ///< without what a run of them has found
};

/// `all_cells`: ids of those that the sweep file stands for, selected or not.
KeptSweep kept_sweep(const SweepFile& file, const SweepPlan& plan, const std::vector<std::string>& all_cells);

Json to_json(const KeptSweep& sweep);
/// Throws InputError naming the file: it is no sweep's, or one of an older version that kept no plan.
KeptSweep read_kept_sweep(const std::filesystem::path& sweep_json);

}  // namespace plumbline
