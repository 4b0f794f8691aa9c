// SPDX-License-Identifier: BSD-3-Clause
// Options of the command line that override the run file: of its [checkpoint], and --set for any key.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "training/training_run.hpp"

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
  std::vector<std::string> assignments;    ///< "train.steps=4", for load_training_run

  /// Adds --checkpoint and related options, which are parsed into this object; it must outlive `app`.
  void add_to(CLI::App& app);

  /// Throws InputError if the options contradict each other or `recorded`, whether a record is requested.
  void use_in(TrainingRun& training, bool recorded) const;
};

}  // namespace plumbline
