// SPDX-License-Identifier: BSD-3-Clause
// A case whose requests match its two records.
#pragma once

#include "support/hash.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {

/// The matching request.
inline Request request_of(const SyntheticRun& run) {
  const Json& manifest = run.manifest;
  Request request;
  request.role = manifest.at("role").get<std::string>();
  request.world_size = manifest.at("world_size").get<std::int64_t>();
  request.schedule =
      RequestedSchedule{manifest.at("schedule").at("name").get<std::string>(), 1, hash_hex(run.schedule_csv)};
  request.stages.emplace();
  for (const Json& stage : manifest.at("stages")) {
    request.stages->push_back({stage.at("stage").get<std::int64_t>(), stage.at("rank").get<std::int64_t>(),
                               stage.at("units").get<std::vector<std::string>>()});
  }
  request.model_digest = model_digest(manifest.at("model"));
  request.seed = manifest.at("seed").get<std::uint64_t>();
  request.dtype = "float32";
  request.optimizer = manifest.at("optimizer");
  request.clip_norm = 1.0;
  request.steps = synthetic_steps;
  request.microbatches.emplace();
  for (const std::int64_t length : {3, 1, 4, 3, 2}) request.microbatches->push_back({{length}, length == 2});
  request.accumulation_digest = "";
  request.device = "cpu";
  request.level = "full";
  return request;
}

struct RequestedCell : SyntheticCell {
  RequestedCell() {
    plan.request = request_of(candidate);
    plan.reference_request = request_of(reference);
  }
};

}  // namespace plumbline::testing
