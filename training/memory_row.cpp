// SPDX-License-Identifier: BSD-3-Clause
#include "training/memory_row.hpp"

#include <malloc.h>

#include <fstream>
#include <string>

namespace plumbline {
namespace {

/// Adds this process's numbers from /proc, and its heap.
void add_process_memory(MemoryRow& row) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) row.process_peak_bytes = kibibytes * 1024;
    if ((word == "RssAnon:" || word == "RssShmem:") && status >> kibibytes)
      row.process_private_bytes = row.process_private_bytes.value_or(0) + kibibytes * 1024;
  }
  row.heap_free_bytes = static_cast<std::int64_t>(mallinfo2().fordblks);  // of all malloc arenas
}

}  // namespace

void begin_step_memory(MemoryMeter& meter) {
  meter.reset_total_peak();
  meter.reset_peak(MemoryOwner::transport);
  meter.reset_peak(MemoryOwner::other);
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
  row.table_bytes = meter.count(MemoryOwner::tables).live;
  row.data_bytes = meter.count(MemoryOwner::data).live;
  row.other_bytes = meter.count(MemoryOwner::other).live;
  row.other_peak_bytes = meter.count(MemoryOwner::other).peak;
  add_process_memory(row);
  return row;
}

}  // namespace plumbline
