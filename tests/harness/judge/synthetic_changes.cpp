// SPDX-License-Identifier: BSD-3-Clause
// Changes to synthetic runs.
#include <algorithm>

#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

/// Rows of these steps, of every table except tensors.csv.
void erase_rows(SyntheticRun& run, const std::function<bool(std::int64_t step)>& of) {
  const auto fits = [&](const auto& row) { return of(row.step); };
  for (auto& rank : run.ranks) {
    std::erase_if(rank.steps, fits);
    std::erase_if(rank.microbatches, fits);
    std::erase_if(rank.boundaries, fits);
    std::erase_if(rank.actions, fits);
    std::erase_if(rank.memory, fits);
    std::erase_if(rank.traffic, fits);
    std::erase_if(rank.gpu_memory, fits);
  }
}

}  // namespace

void keep_first_step(SyntheticRun& run) {
  erase_rows(run, [](std::int64_t step) { return step > 0; });
  run.erase(&RankRecord::tensors, [](const TensorRow& row) { return row.step > 0; });
  run.manifest["steps"] = 1;
  digest_data_again(run);
}

void keep_start(SyntheticRun& run) {
  for (auto& rank : run.ranks) {
    for (auto& row : rank.tensors) {
      if (row.kind == "parameter" && row.step >= 0) row.digest = tensor_row(run, -1, "parameter", row.name).digest;
    }
  }
}

void begin_with_second_step(SyntheticRun& run) {
  erase_rows(run, [](std::int64_t step) { return step < 1; });
  for (auto& rank : run.ranks) {
    std::erase_if(rank.tensors,
                  [](const TensorRow& row) { return row.step < 0 || (row.step == 0 && row.kind == "gradient"); });
    for (TensorRow& row : rank.tensors) row.step = row.step == 0 ? -1 : row.step;
  }
  run.manifest["first_step"] = 1;
  run.manifest["resumed_from"] = {{"run_id", "the run before"}, {"step", 1}};
  digest_data_again(run);
}

TensorRow& tensor_row(SyntheticRun& run, std::int64_t step, std::string_view kind, std::string_view name) {
  for (auto& rank : run.ranks) {
    for (auto& row : rank.tensors) {
      if (row.step == step && row.kind == kind && row.name == name) return row;
    }
  }
  throw std::logic_error("no row " + std::string(kind) + " " + std::string(name));
}

BoundaryRow& boundary_row(SyntheticRun& run, std::int64_t step, std::int64_t microbatch, std::string_view direction,
                          std::string_view cut, std::string_view side) {
  for (auto& rank : run.ranks) {
    for (auto& row : rank.boundaries) {
      if (row.step == step && row.microbatch == microbatch && row.direction == direction && row.cut == cut &&
          row.side == side)
        return row;
    }
  }
  throw std::logic_error("no row " + std::string(direction) + " " + std::string(cut) + " " + std::string(side));
}

ActionRow& action_row(SyntheticRun& run, std::int64_t step, std::string_view action) {
  for (auto& rank : run.ranks) {
    for (auto& row : rank.actions) {
      if (row.step == step && row.action == action) return row;
    }
  }
  throw std::logic_error("no action " + std::string(action));
}

}  // namespace plumbline::testing
