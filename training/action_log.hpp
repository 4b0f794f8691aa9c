// When each action of a step began and ended, for actions.csv and, on a GPU, for a profiler's time line (NVTX).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/writer.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {

/// Monotonic clock of this machine, ns.
std::int64_t monotonic_ns();

class ActionLog {
 public:
  /// `origin_ns`: monotonic time of rank 0's start-up.
  /// `gpu`: of a run on GPUs; its profiler is told.
  ActionLog(RecordWriter& writer, std::int64_t origin_ns, GpuSupport* gpu = nullptr)
      : writer_(writer), origin_ns_(origin_ns), gpu_(gpu) {}

  /// The action is issued now. Returns its index in the step.
  std::size_t begin(std::string action, std::int64_t stage, std::optional<std::int64_t> microbatch);
  /// It has ended now (the first call counts).
  void end(std::size_t index);
  void add_wait(std::size_t index, std::int64_t wait_ns) { rows_.at(index).wait_ns += wait_ns; }
  void set_peak(std::size_t index, std::int64_t peak_bytes) { rows_.at(index).peak_bytes = peak_bytes; }
  /// The actions of the step not ended yet, one JSON object a line: what a rank that failed was doing. Never throws.
  void write_flight(const std::filesystem::path& path) const noexcept;
  /// Writes the step's rows.
  void end_step(std::int64_t step);

  const std::string& last_action() const { return last_action_; }

 private:
  RecordWriter& writer_;
  std::int64_t origin_ns_;
  GpuSupport* gpu_;
  std::vector<ActionRow> rows_;
  std::vector<std::uint64_t> ranges_;  ///< a profiler's, of each row; empty where no GPU is used
  std::string last_action_;
};

}  // namespace plumbline
