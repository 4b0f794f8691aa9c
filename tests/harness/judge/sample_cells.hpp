// SPDX-License-Identifier: BSD-3-Clause
// The records that the cases of tests/approved/verdicts change, by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {

/// Two records, or, if `references` is not empty, the places of a mesh.
struct SampleCell : SyntheticCell {
  using SyntheticCell::SyntheticCell;
  std::vector<SyntheticRun> references, candidates, again;
};

/// "start" and words, each for one difference from SyntheticCell, in order; see sample_cells.cpp.
std::unique_ptr<SampleCell> sample_cell(const std::string& start);
/// Writes into the cell's folders reference, candidate and repeated.
void write_files(SampleCell& cell);

/// Three data-parallel pipelines that differ only in their data.
void add_replicas(SampleCell& cell);
/// The same of our own trainers: a reference of schedule afab, and steps with the loss and tokens of all.
void add_replicas_of_ours(SampleCell& cell);
/// dp 2 x tp 2: places 0 and 1 get one batch, 2 and 3 another. One parameter is split along tp. Every rank clips by the
/// norm of all parts, times `factor`; with `whole_twice`, whole parameters count once per tp rank.
void add_places(SampleCell& cell, double factor = 1, bool whole_twice = false);

}  // namespace plumbline::testing
