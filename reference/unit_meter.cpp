// SPDX-License-Identifier: BSD-3-Clause
#include "reference/unit_meter.hpp"

#include <ATen/Tensor.h>

#include <algorithm>
#include <stdexcept>

namespace plumbline {

UnitMeter::UnitMeter(MemoryMeter& meter, StepObserver* observer, DeferredWeights* deferred,
                     const std::vector<std::string>& units, std::int64_t step, std::int64_t microbatch)
    : meter_(meter), observer_(observer), deferred_(deferred), units_(units), step_(step), microbatch_(microbatch) {
  rows_.resize(units_.size());
  deferred_counts_.resize(units_.size());
  for (std::size_t unit = 0; unit < units_.size(); ++unit) {
    rows_[unit].microbatch = microbatch_;
    rows_[unit].unit = units_[unit];
  }
  meter_.reset_peak(MemoryOwner::activations);  // an evaluation before this pass may have reached a higher one
}

void UnitMeter::note_peak() {
  peak_ = std::max(peak_, meter_.count(MemoryOwner::activations).peak);
  meter_.reset_peak(MemoryOwner::activations);
}

std::int64_t UnitMeter::collect_peak() {
  note_peak();
  return std::exchange(peak_, 0);
}

void UnitMeter::before_unit(std::int64_t unit, const at::Tensor& input) {
  note_peak();
  // ids count as data, not as activations
  const std::int64_t input_bytes = unit == 0 ? 0 : storage_bytes(input);
  base_ = meter_.count(MemoryOwner::activations).live - input_bytes;
}

void UnitMeter::after_unit(std::int64_t unit, const at::Tensor& output) {
  // If a unit saved its own output, these bytes would escape the activation memory model, which counts an output with
  // its consumer.
  if (output.storage().use_count() != 1) {
    throw std::logic_error("unit " + units_[static_cast<std::size_t>(unit)] +
                           " keeps its own output; the activation memory model does not cover it");
  }
  const MemoryCount& count = meter_.count(MemoryOwner::activations);
  SavedRow& row = rows_[static_cast<std::size_t>(unit)];
  row.forward_bytes = count.peak - base_;
  row.saved_bytes = count.live - storage_bytes(output) - base_;
  if (static_cast<std::size_t>(unit) + 1 == units_.size()) return;

  show_cut(unit, "forward", output);
  output.register_hook([this, unit](const at::Tensor& gradient) { gradient_reached(unit, gradient); });
}

/// The boundary before the unit.
void UnitMeter::show_cut(std::int64_t unit, const char* direction, const at::Tensor& tensor) {
  if (observer_ == nullptr) return;
  observer_->on_boundary({step_, microbatch_, direction, units_[static_cast<std::size_t>(unit) + 1], "computed"},
                         tensor);
}

void UnitMeter::open_backward(std::int64_t unit, std::int64_t gradient_bytes) {
  const SavedRow& row = rows_[static_cast<std::size_t>(unit)];
  base_ = meter_.count(MemoryOwner::activations).live - gradient_bytes - row.saved_bytes;
  meter_.reset_peak(MemoryOwner::activations);
  open_ = unit;
}

void UnitMeter::close_backward(std::int64_t next_gradient_bytes) {
  const MemoryCount count = meter_.count(MemoryOwner::activations);
  const auto unit = static_cast<std::size_t>(open_);
  SavedRow& row = rows_[unit];
  if (deferred_ == nullptr) {
    row.backward_bytes = count.peak - base_;
  } else {
    row.input_bytes = count.peak - base_;
    row.retained_bytes = count.live - next_gradient_bytes - base_;
    std::size_t earlier = 0;
    for (std::size_t above = unit + 1; above < units_.size(); ++above) earlier += deferred_counts_[above];
    deferred_counts_[unit] = deferred_->size() - earlier;
  }
  peak_ = std::max(peak_, count.peak);
}

void UnitMeter::gradient_reached(std::int64_t unit, const at::Tensor& gradient) {
  close_backward(storage_bytes(gradient));
  show_cut(unit, "backward", gradient);
  open_backward(unit, storage_bytes(gradient));
}

void UnitMeter::run_deferred() {
  for (std::size_t unit = units_.size(); unit-- > 0;) {
    SavedRow& row = rows_[unit];
    base_ = meter_.count(MemoryOwner::activations).live - *row.retained_bytes;
    meter_.reset_peak(MemoryOwner::activations);
    deferred_->run(deferred_counts_[unit]);
    row.weight_bytes = meter_.count(MemoryOwner::activations).peak - base_;
  }
}

void UnitMeter::begin_backward() {
  note_peak();
  open_backward(static_cast<std::int64_t>(units_.size()) - 1, 0);
}

}  // namespace plumbline
