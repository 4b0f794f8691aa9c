// SPDX-License-Identifier: BSD-3-Clause
// A run of either trainer, as decided before the first step: the run file, its model and data, and the choices of the
// command line.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/config.hpp"
#include "record/precision.hpp"
#include "training/batch_plan.hpp"
#include "training/gpu/gpu_support.hpp"
#include "training/run_file.hpp"
#include "training/tensor_record.hpp"

namespace plumbline {

struct Run {
  RunFile file;
  LlamaConfig config;
  BatchPlan batches;
  TrainSettings train = file.train;              ///< the run file's; --shadow replaces the precision
  PipelineSettings pipeline = file.pipeline;     ///< the run file's; --schedule and --transport replace theirs
  std::optional<BatchPlan> validation{};         ///< its step 0 is an evaluation; null: no validation data
  CheckpointSettings checkpoint{};               ///< the run file's, and what the command line replaces
  RecordLevel record_level = RecordLevel::full;  ///< none: no record
  bool stops_where_not_finite = false;           ///< a recorded run continues, to be compared
  at::Device device = at::kCPU;                  ///< of this rank; a GPU's index is set by select_gpu
  std::vector<std::string> gpus{};               ///< distinct models of the run's GPUs
  std::optional<std::string> resume{};           ///< "latest" or a checkpoint's folder; null: start at step 0
  std::vector<std::string> assigned{};           ///< keys that --set gave: "train.learning_rate"
  std::optional<std::int64_t> stop_after{};      ///< completed steps after which to save and stop
  bool discard_later = false;                    ///< rename checkpoints that are later than the start
  std::string id{};                              ///< new for every run; in a job rank 0's is used

  /// Whether steps are recorded.
  bool recorded() const { return record_level != RecordLevel::none; }
  /// "cpu" or "cuda".
  std::string device_type() const { return c10::DeviceTypeName(device.type(), /*lower_case=*/true); }
  /// Null on the CPU.
  GpuSupport* gpu() const;
  /// Null if the record has no tables.
  GpuSupport* record_gpu() const { return recorded() ? gpu() : nullptr; }
};

/// `text` replaces the run file's data, `assignments` its keys (see TomlTable::read). Throws InputError for a run that
/// cannot be trained.
Run load_run(const std::filesystem::path& run_file, const std::optional<std::filesystem::path>& text = {},
             const std::vector<std::string>& assignments = {});

/// Step 0 of this plan is an evaluation. Requires validation data.
const BatchPlan& evaluation_data(const Run& run);

inline bool is_mixed(const TrainSettings& train) {
  return train.dtype == mixed_precision;
}
/// The dtype of parameters, gradients and optimizer state.
inline at::ScalarType trained_type(const TrainSettings& train) {
  return parse_dtype(trained_dtype(train.dtype));
}
/// The dtype of the computation, and so of activations and messages.
inline at::ScalarType computed_type(const TrainSettings& train) {
  return parse_dtype(computed_dtype(train.dtype));
}

}  // namespace plumbline
