// SPDX-License-Identifier: BSD-3-Clause
// metrics.csv beside the checkpoints, else in the record: how a training goes, a row a step, for plots and for whoever
// watches.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>

#include "training/step_update.hpp"

namespace plumbline {

struct MetricsRow {
  std::optional<float> loss;
  std::optional<float> evaluation_loss;  ///< after the step; nothing where there was none
  std::int64_t tokens = 0;               ///< of the step
  double epochs = 0;                     ///< gone through the data when the step ends
  double seconds = 0;                    ///< of the step
  double waited_seconds = 0;             ///< of these the rank's waits for others
  double saving_seconds = 0;             ///< of the checkpoint after it; 0 where there was none
};

class MetricsFile {
 public:
  /// Rows of steps from `first` on, which a run that was ended made beyond its last checkpoint, are removed. Throws
  /// SystemError where it cannot be written, InputError where what stands there is no such file.
  MetricsFile(const std::filesystem::path& folder, std::int64_t first);

  /// Written at once.
  void add(std::int64_t step, const MetricsRow& row, const StepUpdate& update);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace plumbline
