// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>

#include "support/hash.hpp"
#include "tests/harness/judge/sample_cells.hpp"
#include "tests/record/mesh_json.hpp"

namespace plumbline::testing {
namespace {

const std::string part_name = "model.layers.1.mlp.down_proj.weight";

/// An external run at one of `count` places, each a pipeline of `ranks`; place i has the data of `data`.
SyntheticRun of_place(SyntheticRun run, std::int64_t place, std::int64_t count, std::int64_t ranks,
                      const std::vector<std::pair<std::string, std::int64_t>>& axes, std::int64_t data) {
  Json replicas = Json::array();
  for (std::int64_t first = 0; first < count; ++first) {
    Json mine = Json::array();
    for (std::int64_t rank = 0; rank < ranks; ++rank) mine.push_back(first + rank * count);
    replicas.push_back(std::move(mine));
  }
  run.manifest["role"] = "external";
  run.manifest["run_id"] = run.manifest.at("run_id").get<std::string>().substr(0, 35) + std::to_string(place);
  run.manifest["mesh"] = mesh_json(axes, replicas, place);
  for (MicrobatchRow& row : run.rows(&RankRecord::microbatches)) {
    if (!row.data_digest.empty()) row.data_digest = hash_hex(row.data_digest + std::to_string(data));
  }
  digest_data_again(run);
  return run;
}

SyntheticRun of_replica(const SyntheticRun& run, std::int64_t replica, std::int64_t ranks) {
  return of_place(run, replica, 3, ranks, {{"replica", 3}, {"pp", ranks}}, replica);
}

SyntheticRun of_mesh(const SyntheticRun& run, std::int64_t place, std::int64_t ranks) {
  SyntheticRun made = of_place(run, place, 4, ranks, {{"pp", ranks}, {"dp", 2}, {"tp", 2}}, place / 2);
  made.manifest["norm_order"] = "per_rank";
  made.manifest["mesh"]["parts"] = {{part_name, {{"axes", {"tp"}}, {"placements", "tp: Shard(dim=1)"}}}};
  for (TensorRow& row : made.rows(&RankRecord::tensors)) {
    if (row.name == part_name) row.digest = hash_hex(row.digest + std::to_string(place % 2));
  }
  return made;
}

}  // namespace

void add_replicas(SampleCell& cell) {
  for (std::int64_t replica = 0; replica < 3; ++replica) {
    cell.references.push_back(of_replica(synthetic_reference(SyntheticPlan{}), replica, 1));
    cell.candidates.push_back(of_replica(synthetic_candidate(SyntheticPlan{}), replica, 2));
  }
}

void add_replicas_of_ours(SampleCell& cell) {
  for (std::int64_t replica = 0; replica < 3; ++replica) {
    cell.references.push_back(of_replica(synthetic_candidate({.schedule = "afab"}), replica, 2));
    cell.candidates.push_back(of_replica(synthetic_candidate(SyntheticPlan{}), replica, 2));
    for (SyntheticRun* run : {&cell.references.back(), &cell.candidates.back()}) {
      run->manifest["role"] = "pipeline";
      for (StepRow& row : run->rows(&RankRecord::steps)) {
        row.tokens *= 3, row.valid_tokens *= 3;
        if (!row.loss) continue;
        row.loss = 0.0F;
        for (int other = 0; other < 3; ++other) {
          for (const MicrobatchRow& of : run->rows(&RankRecord::microbatches))
            if (of.step == row.step && of.loss) *row.loss += *of.loss;
        }
      }
    }
  }
}

void add_places(SampleCell& cell, double factor, bool whole_twice) {
  for (std::int64_t place = 0; place < 4; ++place) {
    cell.references.push_back(of_mesh(synthetic_reference(SyntheticPlan{}), place, 1));
    cell.candidates.push_back(of_mesh(synthetic_candidate(SyntheticPlan{}), place, 2));
    for (SyntheticRun* run : {&cell.references.back(), &cell.candidates.back()}) {
      for (std::int64_t step = 0; step < synthetic_steps; ++step) {
        double squares = 0;
        for (const TensorRow& row : run->rows(&RankRecord::tensors)) {
          if (row.step != step || row.kind != "gradient" || row.name == head_weight) continue;  // tied
          squares += (row.name == part_name || whole_twice ? 2 : 1) * row.l2 * row.l2;
        }
        for (StepRow& row : run->rows(&RankRecord::steps)) {
          if (row.step != step) continue;
          row.gradient_norm = factor * std::sqrt(squares);
          row.clip_coefficient = std::min(1.0, run->manifest.at("clip_norm").get<double>() / *row.gradient_norm);
        }
      }
    }
  }
}

}  // namespace plumbline::testing
