// SPDX-License-Identifier: BSD-3-Clause
// What the command line says of checkpoints, in place of the run file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "training/training_run.hpp"

namespace CLI {
class App;
}

namespace plumbline {

struct CheckpointOptions {
  std::optional<std::filesystem::path> folder;
  std::optional<std::int64_t> every;  ///< 0: at the end alone
  std::optional<std::int64_t> keep;
  std::optional<std::int64_t> stop_after;  ///< steps made
  std::string resume = "none";             ///< none | latest | a checkpoint's folder

  /// --checkpoint and what goes with it. They are read into this object, which outlives `app`.
  void add_to(CLI::App& app);

  /// Throws InputError where they do not go together with each other or with `recorded`, whether a record is asked for.
  void use_in(TrainingRun& training, bool recorded) const;
};

}  // namespace plumbline
