// SPDX-License-Identifier: BSD-3-Clause
#include "training/memory_row.hpp"

#include <fstream>
#include <string>

namespace plumbline {
namespace {

/// Adds this process's peak from /proc.
void add_process_memory(MemoryRow& row) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) row.process_peak_bytes = kibibytes * 1024;
  }
}

}  // namespace

void begin_step_memory(MemoryMeter& meter) {
  meter.reset_total_peak();
  meter.reset_peak(MemoryOwner::transport);
}

MemoryRow memory_row(const MemoryMeter& meter, std::int64_t step, std::int64_t activation_peak_bytes) {
  MemoryRow row;
  row.step = step;
  const std::int64_t copied = meter.count(MemoryOwner::checkpoint).live;  // constant within a step
  row.peak_bytes = meter.total().peak - copied;
  row.parameter_bytes = meter.count(MemoryOwner::parameters).live;
  row.gradient_bytes = meter.count(MemoryOwner::gradients).live;
  row.optimizer_bytes = meter.count(MemoryOwner::optimizer).live;
  row.activation_peak_bytes = activation_peak_bytes;
  row.buffer_bytes = meter.count(MemoryOwner::transport).peak;
  row.live_bytes = meter.total().live - copied;
  add_process_memory(row);
  return row;
}

}  // namespace plumbline
