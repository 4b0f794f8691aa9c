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

/// A run of one step and one microbatch on one rank.
inline ExternalRun external_run() {
  ExternalRun run;
  run.optimizer = R"({"name": "sgd", "learning_rate": 0.1, "momentum": 0, "weight_decay": 0})";
  run.steps = 1;
  run.microbatches = 1;
  run.stages = {{0, {"a", "b"}}};
  return run;
}

/// The required calls of a step on the rank of the last stage.
inline void complete_external_step(ExternalRecord& record) {
  record.microbatch({1, 1, 1, ""});
  record.loss(0, 1);
  record.end_step();
}

}  // namespace plumbline::testing
