// SPDX-License-Identifier: BSD-3-Clause
// What both trainers read before they begin: the run file, the model's shape, the data.
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
  std::optional<BatchPlan> validation{};     ///< step 0 of it is an evaluation; none: there is none
  at::Device device = at::kCPU;              ///< of this rank
  std::optional<std::string> resume{};       ///< "latest" or a checkpoint's folder; none: a start from step 0
  std::optional<std::int64_t> stop_after{};  ///< steps made, of all of the training, after which to save and to end
  std::string run_id{};                      ///< a new one for every run; of a job rank 0's counts
  std::vector<std::string> gpus{};           ///< models that the run uses, each once; none on the CPU

  /// Whether anything is counted, digested or written of its steps.
  bool recorded() const { return run.record_level != RecordLevel::none; }
  /// Null on the CPU.
  GpuSupport* gpu() const;
  /// Null where the record asks for no tables.
  GpuSupport* record_gpu() const { return run.record_level == RecordLevel::none ? nullptr : gpu(); }
};

/// `text` replaces the run file's data. Throws InputError for whatever of it cannot be trained.
TrainingRun load_training_run(const std::filesystem::path& run_file, const std::optional<std::filesystem::path>& text);

}  // namespace plumbline
