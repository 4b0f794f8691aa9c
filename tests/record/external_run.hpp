// SPDX-License-Identifier: BSD-3-Clause
// Runs for tests of ExternalRecord.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "record/external_record.hpp"
#include "record/record.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {

inline const std::array<float, 2> external_values{1, -2};
inline const TensorView external_tensor{"float32", {1, 2}, external_values.data()};

/// A run of one step and one microbatch.
inline ExternalRun external_run(const std::vector<ExternalStage>& stages) {
  ExternalRun run;
  run.optimizer = R"({"name": "sgd", "learning_rate": 0.1, "momentum": 0, "weight_decay": 0})";
  run.steps = 1;
  run.microbatches = 1;
  run.stages = stages;
  return run;
}

/// One rank with the whole model.
inline ExternalRun external_run() {
  return external_run({{0, {"a", "b"}}});
}

/// The required calls of a step on the rank of the last stage.
inline void complete_external_step(ExternalRecord& record) {
  record.microbatch({1, 1, 1, ""});
  record.loss(0, 1);
  record.end_step();
}

/// The rows that `write_rows` writes in the first step of a rank, which is also the last.
template <typename WriteRows>
RankRecord external_rows(const ExternalRun& run, std::int64_t rank, WriteRows write_rows) {
  const TemporaryFolder folder;
  const auto path = folder / "record";
  if (rank != 0) ExternalRecord(path, run, 0);
  {
    ExternalRecord record(path, run, rank);
    record.begin_step(0.1);
    write_rows(record);
    complete_external_step(record);
  }
  return read_record(path).ranks.at(static_cast<std::size_t>(rank));
}

}  // namespace plumbline::testing
