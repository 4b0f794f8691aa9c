// SPDX-License-Identifier: BSD-3-Clause
// Reads from a user's run file and a case's changes the facts for the plan, and the request of a run. The
// trainers, not the harness, validate the rest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/expected/model.hpp"
#include "harness/judge/request/request.hpp"
#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "support/json.hpp"

namespace plumbline {

struct RunFacts {
  std::string name;                              ///< displayed name: the key `name`, else name_of_file
  std::filesystem::path config;                  ///< the model's config.json
  std::optional<std::filesystem::path> weights;  ///< initial weights
  std::string model;                   ///< name of the config's folder, or of the file if it is not called config.json
  std::optional<std::int64_t> layers;  ///< num_hidden_layers, if config.json has it
  std::string optimizer;
  std::string dtype;
  std::string schedule;   ///< a name, or a CSV file's path
  std::string transport;  ///< of a sweep, which starts processes: never threads
  bool tied = false;
  std::int64_t replicas = 1;  ///< copies of the pipeline
  std::int32_t chunks = 0;    ///< 0: the schedule's default
  std::int64_t steps = 0;
  std::int64_t microbatches = 0;                   ///< 0 if the file does not specify it
  std::vector<std::vector<std::int64_t>> lengths;  ///< as in RunChanges::lengths, one entry per microbatch
  judging::RequestedPartition partition;
};

/// Throws InputError naming the file: not readable, not TOML, no model, a value of the wrong type.
RunFacts read_run_facts(const std::filesystem::path& run, const RunChanges& changes);

/// The facts that the planner has read, otherwise as above.
std::shared_ptr<const RunFacts> facts_of(const PlannedReference& reference);

/// The request of a reference or of a case's pipeline. Throws InputError naming the file: not readable, not TOML.
Request make_request(const SweepFile& sweep, const PlannedReference& reference);
Request make_request(const SweepFile& sweep, const PlannedCell& cell);

/// A model's config.json, which a sweep needs for each case and run and which may have megabytes.
struct ModelConfig {
  Json json;
  std::string digest;  ///< the judge's model_digest
};

/// Reads again only if the file has changed (size, time). Thread-safe. Throws InputError if it is missing or no JSON.
std::shared_ptr<const ModelConfig> model_config(const std::filesystem::path& path);

}  // namespace plumbline
