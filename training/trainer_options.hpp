// SPDX-License-Identifier: BSD-3-Clause
// Options of the command line that both trainers have.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "training/run.hpp"

namespace CLI {
class App;
}

namespace plumbline {

struct CheckpointOptions {
  std::optional<std::filesystem::path> folder;
  std::optional<std::int64_t> every;  ///< 0: only at the end
  std::optional<std::int64_t> keep;
  std::optional<std::int64_t> stop_after;  ///< number of completed steps
  std::string resume = "none";             ///< none | latest | a checkpoint's folder
  bool discard_later = false;              ///< rename what is later than the start
  std::vector<std::string> assignments;    ///< "train.steps=4", for load_run

  /// Adds --checkpoint and related options, which are parsed into this object; it must outlive `app`.
  void add_to(CLI::App& app);

  /// Throws InputError if the options contradict each other or `recorded`, whether a record is requested.
  void use_in(Run& run, bool recorded) const;
};

struct TrainerOptions {
  std::filesystem::path run_file;
  std::filesystem::path record;  ///< empty: no record
  CheckpointOptions checkpoint;
  std::optional<std::filesystem::path> text;  ///< overrides the run file's data
  std::string device = "cpu";                 ///< cpu | cuda
  std::vector<std::string> command;           ///< for the record
  bool progress = true;

  /// Adds the run file (`keys`: what it contains), --record, --text and the checkpoint's options.
  void add_to(CLI::App& app, const std::string& keys);
};

/// The run with these options applied; `recorded`: its steps are recorded. Throws InputError as load_run and use_in do.
Run load_run(const TrainerOptions& options, bool recorded);

}  // namespace plumbline
