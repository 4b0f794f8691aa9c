// SPDX-License-Identifier: BSD-3-Clause
// The inputs of both trainers: the run file, the model's sizes, the data.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/config.hpp"
#include "training/batch_plan.hpp"
#include "training/gpu/gpu_support.hpp"
#include "training/run_file.hpp"

namespace plumbline {

struct TrainingRun {
  RunFile run;
  LlamaConfig config;
  BatchPlan plan;
  std::optional<BatchPlan> validation{};  ///< its step 0 is an evaluation; null: no validation data
  at::Device device = at::kCPU;           ///< of this rank
  std::optional<std::string> resume{};    ///< "latest" or a checkpoint's folder; null: start at step 0
  std::optional<std::int64_t>
      stop_after{};                 ///< number of completed steps, counted from step 0, after which to save and stop
  bool discard_later = false;       ///< renames checkpoints that are later than the start; else they are refused
  std::string run_id{};             ///< new for every run; in a job rank 0's is used
  std::vector<std::string> gpus{};  ///< distinct models of the run's GPUs; empty on the CPU

  /// Whether steps are recorded.
  bool recorded() const { return run.record_level != RecordLevel::none; }
  /// Null on the CPU.
  GpuSupport* gpu() const;
  /// Null if the record has no tables.
  GpuSupport* record_gpu() const { return run.record_level == RecordLevel::none ? nullptr : gpu(); }
};

/// `text` replaces the run file's data, `assignments` its keys (see TomlTable::read). Throws InputError for a run that
/// cannot be trained.
TrainingRun load_training_run(const std::filesystem::path& run_file, const std::optional<std::filesystem::path>& text,
                              const std::vector<std::string>& assignments = {});

}  // namespace plumbline
