#include "reference/unit_meter.hpp"

#include <ATen/Tensor.h>

#include <algorithm>
#include <stdexcept>

namespace plumbline {

UnitMeter::UnitMeter(MemoryMeter& meter, StepRecorder& recorder, const std::vector<std::string>& units,
                     std::int64_t step, std::int64_t microbatch)
    : meter_(meter), recorder_(recorder), units_(units), step_(step), microbatch_(microbatch), rows_(units.size()) {
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    rows_[unit].microbatch = microbatch;
    rows_[unit].unit = units[unit];
  }
}

void UnitMeter::note_peak() {
  peak_ = std::max(peak_, meter_.count(MemoryOwner::activations).peak);
  meter_.reset_peak(MemoryOwner::activations);
}

std::int64_t UnitMeter::take_peak() {
  note_peak();
  return std::exchange(peak_, 0);
}

void UnitMeter::before_unit(std::int64_t unit, const at::Tensor& input) {
  note_peak();
  // ids belong to the data, not to the activations
  const std::int64_t input_bytes = unit == 0 ? 0 : storage_bytes(input);
  base_ = meter_.count(MemoryOwner::activations).live - input_bytes;
}

void UnitMeter::after_unit(std::int64_t unit, const at::Tensor& output) {
  // A unit that saved its own output would hide these bytes from the law, which counts the output with its consumer.
  if (output.storage().use_count() != 1) {
    throw std::logic_error("unit " + units_[static_cast<std::size_t>(unit)] +
                           " keeps its own output; the memory law does not hold for it");
  }
  const MemoryCount& count = meter_.count(MemoryOwner::activations);
  SavedRow& row = rows_[static_cast<std::size_t>(unit)];
  row.forward_bytes = count.peak - base_;
  row.saved_bytes = count.live - storage_bytes(output) - base_;
  if (static_cast<std::size_t>(unit) + 1 == units_.size()) return;

  const std::string& cut = units_[static_cast<std::size_t>(unit) + 1];
  recorder_.boundary(step_, microbatch_, "forward", cut, "computed", {}, output);
  output.register_hook([this, unit](const at::Tensor& gradient) { gradient_reached(unit, gradient); });
}

void UnitMeter::open_backward(std::int64_t unit, std::int64_t gradient_bytes) {
  const SavedRow& row = rows_[static_cast<std::size_t>(unit)];
  base_ = meter_.count(MemoryOwner::activations).live - gradient_bytes - row.saved_bytes;
  meter_.reset_peak(MemoryOwner::activations);
  open_ = unit;
}

void UnitMeter::close_backward() {
  const std::int64_t peak = meter_.count(MemoryOwner::activations).peak;
  rows_[static_cast<std::size_t>(open_)].backward_bytes = peak - base_;
  peak_ = std::max(peak_, peak);
}

void UnitMeter::gradient_reached(std::int64_t unit, const at::Tensor& gradient) {
  close_backward();
  recorder_.boundary(step_, microbatch_, "backward", units_[static_cast<std::size_t>(unit) + 1], "computed", {},
                     gradient);
  open_backward(unit, storage_bytes(gradient));
}

void UnitMeter::begin_backward() {
  note_peak();
  open_backward(static_cast<std::int64_t>(units_.size()) - 1, 0);
}

void UnitMeter::end_backward() {
  close_backward();
}

}  // namespace plumbline
