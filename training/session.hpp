// What both trainers read before they begin: the run file, the model's shape, the data.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/config.hpp"
#include "training/batch_plan.hpp"
#include "training/gpu/gpu_support.hpp"
#include "training/run_file.hpp"

namespace plumbline {

struct Session {
  RunFile run;
  LlamaConfig config;
  BatchPlan plan;
  at::Device device = at::kCPU;     ///< of this rank
  std::vector<std::string> gpus{};  ///< models that the run uses, each once; none on the CPU

  /// Null on the CPU.
  GpuSupport* gpu() const;
  /// Null where the record asks for no tables.
  GpuSupport* record_gpu() const { return run.record_level == RecordLevel::none ? nullptr : gpu(); }
};

/// `text` replaces the run file's data. Throws InputError for whatever of it cannot be trained; microbatches that are
/// equal are only warned of on stderr.
Session load_session(const std::filesystem::path& run_file, const std::optional<std::filesystem::path>& text);

}  // namespace plumbline
