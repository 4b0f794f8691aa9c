// metrics.csv beside the checkpoints: how a training goes, a row a step, for plots and for whoever watches.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>

#include "training/step_update.hpp"

namespace plumbline {

class MetricsFile {
 public:
  /// Rows of steps from `first` on, which a run that was ended made beyond its last checkpoint, are removed. Throws
  /// SystemError where it cannot be written, InputError where what stands there is no such file.
  MetricsFile(const std::filesystem::path& folder, std::int64_t first);

  /// Written at once. `seconds`: of the step; `saving_seconds`: of the checkpoint after it, 0 where there was none.
  void add(std::int64_t step, std::optional<float> loss, const StepUpdate& update, std::int64_t tokens, double seconds,
           double saving_seconds);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace plumbline
