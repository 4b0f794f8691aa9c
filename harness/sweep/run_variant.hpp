// SPDX-License-Identifier: BSD-3-Clause
// A user's run file with a cell's changes put in: what the trainers are given. The trainers, not the harness, validate
// the rest of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/sweep/sweep_file.hpp"

namespace plumbline {

/// What the harness has to know of a run, the changes put in.
struct RunFacts {
  std::string name;                              ///< for people: its key `name`, else name_of_file
  std::filesystem::path config;                  ///< the model's config.json
  std::optional<std::filesystem::path> weights;  ///< that the model starts from
  std::string model;                   ///< name of the folder that holds it, or the file's when that is no config.json
  std::optional<std::int64_t> layers;  ///< num_hidden_layers, when config.json says so
  std::string optimizer;
  std::string dtype;
  std::string schedule;                         ///< a name, or a CSV file's path
  std::optional<std::string> schedule_dialect;  ///< of a schedule file
  std::string transport;
  bool tied = false;
  std::int32_t chunks = 0;  ///< 0: as many as the schedule is made for
  std::int64_t steps = 0;
  std::int64_t microbatches = 0;                   ///< 0 when the file does not say
  std::vector<std::vector<std::int64_t>> lengths;  ///< as RunChanges::lengths, one entry for each microbatch
  std::string partition;                           ///< uniform | cost; says nothing where there is a balance
  std::vector<std::int64_t> balance;               ///< empty unless the partition is given by hand
};

/// Throws InputError naming the file: not readable, not TOML, without a model.
RunFacts read_run_facts(const std::filesystem::path& run, const RunChanges& changes);

/// Whether the run file's dialect is that of this schedule: of its own file, and of another whose cells do not tell
/// one.
bool takes_dialect_of(const RunFacts& facts, const std::string& schedule);

/// TOML texts for a file that will lie in `folder`: paths in them are relative to it. The optimiser's own keys go when
/// another is asked for. `schedule`: a name, or a CSV file's path from here. The reference's has no [pipeline] table,
/// so that all cells that train the same have the same one.
std::string reference_run(const std::filesystem::path& run, const RunChanges& changes,
                          const std::filesystem::path& folder);
std::string pipeline_run(const std::filesystem::path& run, const RunChanges& changes, const std::string& schedule,
                         const std::filesystem::path& folder);

/// `run`, the text of a run file in `folder`, for a candidate of the calibrated tier: its start taken from `weights`,
/// at level dump.
std::string starting_from(const std::string& run, const std::filesystem::path& weights,
                          const std::filesystem::path& folder);
/// The same of a user's run file and the changes, with its own [pipeline] table.
std::string candidate_run(const std::filesystem::path& run, const RunChanges& changes,
                          const std::filesystem::path& weights, const std::filesystem::path& folder);

}  // namespace plumbline
