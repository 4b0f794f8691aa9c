// SPDX-License-Identifier: BSD-3-Clause
#include "record/table_keys.hpp"

#include <fmt/format.h>

namespace plumbline {
namespace {

std::int64_t units(const Manifest& manifest) {
  std::int64_t count = 0;
  for (const StageEntry& stage : manifest.stages) count += static_cast<std::int64_t>(stage.units.size());
  return count;
}

}  // namespace

TableKeys::TableKeys(const Manifest& manifest, Complete demand, bool complete)
    : manifest_(manifest),
      demand_(demand),
      // A recorder that could not see actions any more has rows of the steps before.
      complete_(complete && (demand != Complete::each_index || !lists_any(manifest.not_recorded, {"actions"}))) {}

bool TableKeys::Numbers::insert(std::int64_t number) {
  if (number < first_missing_) return false;
  if (number > first_missing_) return beyond_.insert(number).second;
  ++first_missing_;
  while (!beyond_.empty() && *beyond_.begin() == first_missing_) {
    beyond_.erase(beyond_.begin());
    ++first_missing_;
  }
  return true;
}

std::optional<std::string> TableKeys::accept_step(std::optional<std::int64_t> step) {
  if (step_ && step && *step < *step_)
    return fmt::format("a row of step {} after those of step {}: rows are written step by step", *step, *step_);
  if (step_ && step && *step > *step_)
    if (const auto missing = end_step()) return missing;
  const std::int64_t next = !step_ ? manifest_.first_step : *step == *step_ ? *step : *step_ + 1;
  const bool each_step = demand_ != Complete::unique && demand_ != Complete::each_microbatch_unit;
  if (step && each_step && complete_ && *step > next) {
    step_ = next;
    return fmt::format("no row of step {} comes before those of step {}", next, *step);
  }
  step_ = step;
  return std::nullopt;
}

std::optional<std::string> TableKeys::missing_number() const {
  if (!complete_) return std::nullopt;
  const bool microbatches = demand_ == Complete::each_microbatch;
  if (!microbatches && demand_ != Complete::each_index) return std::nullopt;
  // Microbatches outside the run are refused with their rows.
  const bool all = !numbers_.gap() && (!microbatches || numbers_.first_missing() == manifest_.microbatches);
  if (all) return std::nullopt;
  return fmt::format("step {} has no row of {} {}", *step_, microbatches ? "microbatch" : "index",
                     numbers_.first_missing());
}

std::optional<std::string> TableKeys::end_step() {
  const auto missing = numbers_.empty() ? std::nullopt : missing_number();
  keys_.clear();
  numbers_.clear();
  return missing;
}

std::optional<std::string> TableKeys::finish() {
  if (!complete_) return std::nullopt;
  if (demand_ == Complete::each_microbatch_unit) {
    const std::int64_t each = units(manifest_);
    if (std::ssize(keys_) == manifest_.microbatches * each) return std::nullopt;
    return fmt::format("has {} rows, not one for each of {} microbatches and {} units in the stages of manifest.json",
                       keys_.size(), manifest_.microbatches, each);
  }
  if (demand_ == Complete::unique) return std::nullopt;
  if (const auto missing = end_step()) return missing;
  if (step_ && *step_ + 1 == manifest_.steps) return std::nullopt;
  step_ = step_ ? *step_ + 1 : manifest_.first_step;
  return fmt::format("no row of step {}, but manifest.json says {} steps", *step_, manifest_.steps);
}

}  // namespace plumbline
