// SPDX-License-Identifier: BSD-3-Clause
// metrics.csv in the checkpoint folder, else in the record: one row per step, for plots and monitoring.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>

#include "support/files.hpp"
#include "training/step_update.hpp"

namespace plumbline {

struct MetricsRow {
  std::optional<float> loss;
  std::optional<float> evaluation_loss;  ///< after the step; null if there was none
  std::int64_t tokens = 0;               ///< of the step
  double epochs = 0;                     ///< passes over the data when the step ends
  double seconds = 0;                    ///< of the step
  double waited_seconds = 0;             ///< part of `seconds` in which the rank waited for others
  double tflops = 0;                     ///< of a device, a second: model FLOPs (step_flops) / devices / `seconds`
  std::optional<double> utilization;     ///< `tflops` / the device's peak; null: that is unknown
  double saving_seconds = 0;             ///< see Checkpoints::RowWriter; 0 if no checkpoint followed
};

inline constexpr const char* metrics_file_name = "metrics.csv";

/// Number of rows of the folder's metrics.csv; 0 without one.
std::int64_t metrics_rows(const std::filesystem::path& folder);

class MetricsFile {
 public:
  /// Removes rows of steps from `first` on, which an ended run made after its last checkpoint. Throws SystemError if
  /// the file cannot be written, InputError if it is not a metrics file.
  MetricsFile(const std::filesystem::path& folder, std::int64_t first);

  /// Flushes immediately.
  void add(std::int64_t step, const MetricsRow& row, const StepUpdate& update);
  /// Waits until the disk has all rows. Errors are ignored.
  void sync() const { sync_path(path_); }

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace plumbline
