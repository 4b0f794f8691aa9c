// SPDX-License-Identifier: BSD-3-Clause
// A user's run file with a case's changes, as given to the trainers. The trainers, not the harness, validate the rest
// of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/sweep_file.hpp"

namespace plumbline {

/// The harness's view of a run, including the case's changes.
struct RunFacts {
  std::string name;                              ///< displayed name: the key `name`, else name_of_file
  std::filesystem::path config;                  ///< the model's config.json
  std::optional<std::filesystem::path> weights;  ///< initial weights
  std::string model;                   ///< name of the config's folder, or of the file if it is not called config.json
  std::optional<std::int64_t> layers;  ///< num_hidden_layers, if config.json has it
  std::string optimizer;
  std::string dtype;
  std::string schedule;                         ///< a name, or a CSV file's path
  std::optional<std::string> schedule_dialect;  ///< of a schedule file
  std::string transport;
  bool tied = false;
  std::int64_t replicas = 1;  ///< copies of the pipeline
  std::int32_t chunks = 0;    ///< 0: the schedule's default
  std::int64_t steps = 0;
  std::int64_t microbatches = 0;                   ///< 0 if the file does not specify it
  std::vector<std::vector<std::int64_t>> lengths;  ///< as in RunChanges::lengths, one entry per microbatch
  bool halves = false;                             ///< granularity "half"
  std::string partition;                           ///< uniform | cost; ignored if there is a balance
  std::vector<std::int64_t> balance;               ///< empty unless the partition is explicit
};

/// Throws InputError naming the file: not readable, not TOML, no model.
RunFacts read_run_facts(const std::filesystem::path& run, const RunChanges& changes);

/// True if the run file's dialect applies to this schedule: to its own file, and to another one whose cells imply none.
bool takes_dialect_of(const RunFacts& facts, const std::string& schedule);

/// TOML texts for a file in `folder`: paths in them are relative to it. The optimiser's own keys are removed if another
/// one is requested. `schedule`: a name, or a CSV file's path from here. The reference's text has no [pipeline] table
/// but for `granularity`, so that all cases of the same training share it.
std::string reference_run(const std::filesystem::path& run, const RunChanges& changes,
                          const std::filesystem::path& folder);
std::string pipeline_run(const std::filesystem::path& run, const RunChanges& changes, const std::string& schedule,
                         const std::filesystem::path& folder);

/// `run`, the text of a run file in `folder`, for a candidate in the mode calibrated: starts from `weights`, at level
/// dump.
std::string starting_from(const std::string& run, const std::filesystem::path& weights,
                          const std::filesystem::path& folder);
/// The same for a user's run file and the changes, with its own [pipeline] table.
std::string candidate_run(const std::filesystem::path& run, const RunChanges& changes,
                          const std::filesystem::path& weights, const std::filesystem::path& folder);

}  // namespace plumbline
