#include "training/step_end.hpp"

#include <fstream>
#include <string>

#include "training/gradient_norm.hpp"
#include "training/learning_rate.hpp"

namespace plumbline {
namespace {

/// Fills in what /proc tells of this process.
void add_process_memory(MemoryRow& row) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) row.process_peak_bytes = kibibytes * 1024;
    if ((word == "RssAnon:" || word == "RssShmem:") && status >> kibibytes)
      row.process_private_bytes = row.process_private_bytes.value_or(0) + kibibytes * 1024;
  }
}

}  // namespace

StepUpdate update_parameters(const TrainSettings& train, std::int64_t step, double global_norm,
                             std::vector<Parameter>& parameters, Optimizer& optimizer) {
  StepUpdate update;
  update.gradient_norm = global_norm;
  update.clip_coefficient = clip_coefficient(global_norm, train.clip_norm);
  update.learning_rate = learning_rate(train, step);
  const MemoryScope scope(MemoryOwner::other);
  scale_gradients(parameters, update.clip_coefficient);
  optimizer.step(update.learning_rate);
  return update;
}

StepRow step_row(const BatchPlan& plan, std::int64_t step, const StepUpdate& update, std::optional<float> loss,
                 double seconds) {
  StepRow row;
  row.step = step;
  row.loss = loss;
  row.gradient_norm = update.gradient_norm;
  row.clip_coefficient = update.clip_coefficient;
  row.learning_rate = update.learning_rate;
  row.tokens = plan.step_tokens();
  row.valid_tokens = plan.step_valid_tokens();
  row.live_tokens = plan.live_tokens(step);
  row.seconds = seconds;
  return row;
}

void begin_step_memory(MemoryMeter& meter) {
  meter.reset_total_peak();
  meter.reset_peak(MemoryOwner::transport);
  meter.reset_peak(MemoryOwner::other);
}

MemoryRow memory_row(const MemoryMeter& meter, std::int64_t step, std::int64_t activation_peak_bytes) {
  MemoryRow row;
  row.step = step;
  row.peak_bytes = meter.total().peak;
  row.parameter_bytes = meter.count(MemoryOwner::parameters).live;
  row.gradient_bytes = meter.count(MemoryOwner::gradients).live;
  row.optimizer_bytes = meter.count(MemoryOwner::optimizer).live;
  row.activation_peak_bytes = activation_peak_bytes;
  row.buffer_bytes = meter.count(MemoryOwner::transport).peak;
  row.live_bytes = meter.total().live;
  row.table_bytes = meter.count(MemoryOwner::tables).live;
  row.data_bytes = meter.count(MemoryOwner::data).live;
  row.other_bytes = meter.count(MemoryOwner::other).live;
  row.other_peak_bytes = meter.count(MemoryOwner::other).peak;
  add_process_memory(row);
  return row;
}

std::vector<MicrobatchRow> microbatch_rows(const BatchPlan& plan, std::int64_t step, const std::vector<float>& losses,
                                           const std::vector<std::string>& digests) {
  std::vector<MicrobatchRow> rows;
  for (std::int64_t microbatch = 0; microbatch < plan.microbatches(); ++microbatch) {
    MicrobatchRow row;
    row.step = step;
    row.microbatch = microbatch;
    row.sequence_length = plan.sequence_length(microbatch);
    row.batch = plan.batch(microbatch);
    row.tokens = plan.tokens(microbatch);
    row.valid_tokens = plan.valid_tokens(microbatch);
    if (!losses.empty()) row.loss = losses.at(static_cast<std::size_t>(microbatch));
    row.data_digest = digests.at(static_cast<std::size_t>(microbatch));
    rows.push_back(std::move(row));
  }
  return rows;
}

float step_loss(const std::vector<float>& losses) {
  float sum = 0;
  for (const float loss : losses) sum += loss;
  return sum;
}

}  // namespace plumbline
