// SPDX-License-Identifier: BSD-3-Clause
#include "training/step_rows.hpp"

#include <utility>
#include <vector>

#include "training/action_log.hpp"
#include "training/memory_row.hpp"

namespace plumbline {

void StepRows::step_began(std::int64_t /*step*/) {
  begin_ns_ = monotonic_ns();
  waited_ns_ = 0;
  if (recorded()) begin_step_memory(meter_);
  activation_peak_ = 0;
  if (owns_loss_) losses_.begin(plan_.microbatches());
}

void StepRows::add_microbatches(std::int64_t step) {
  const std::vector<float>& losses = losses_.read();
  const std::vector<std::string> digests = fed_.end_step();
  for (std::int64_t microbatch = 0; microbatch < plan_.microbatches(); ++microbatch) {
    MicrobatchRow row;
    row.step = step;
    row.microbatch = microbatch;
    row.sequence_length = plan_.sequence_length(microbatch);
    row.batch = plan_.batch(microbatch);
    row.tokens = plan_.tokens(microbatch);
    row.valid_tokens = plan_.valid_tokens(microbatch);
    if (owns_loss_) row.loss = losses.at(static_cast<std::size_t>(microbatch));
    row.data_digest = digests.at(static_cast<std::size_t>(microbatch));
    writer_.add(std::move(row));
  }
}

void StepRows::step_ended(std::int64_t step) {
  if (owns_loss_) loss_ = step_loss(losses_of_step_.empty() ? losses_.read() : losses_of_step_);
  if (!recorded()) return;
  add_microbatches(step);
  writer_.add(memory_row(meter_, step, activation_peak_));
  StepRow row;
  row.step = step;
  row.loss = loss_;
  row.gradient_norm = update_.gradient_norm;
  row.clip_coefficient = update_.clip_coefficient;
  row.learning_rate = update_.learning_rate;
  row.tokens = plan_.step_tokens();
  row.valid_tokens = plan_.step_valid_tokens();
  row.live_tokens = plan_.live_tokens(step);
  row.recording_seconds = clock_.seconds();
  row.seconds = static_cast<double>(monotonic_ns() - begin_ns_) * 1e-9;
  writer_.end_step(row);
}

}  // namespace plumbline
