// SPDX-License-Identifier: BSD-3-Clause
#include "training/batch_plan.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/ignored_label.hpp"
#include "support/machine_memory.hpp"
#include "training/memory_meter.hpp"
#include "training/tokens.hpp"
#include "training/window_shuffle.hpp"

namespace plumbline {

namespace {

constexpr std::int64_t padding_id = 0;

at::Tensor as_tensor(std::span<const std::int64_t> numbers, std::int64_t batch, std::int64_t sequence) {
  const MemoryScope scope(MemoryOwner::data);
  at::Tensor tensor = at::empty({batch, sequence}, at::kLong);
  std::copy(numbers.begin(), numbers.end(), tensor.mutable_data_ptr<std::int64_t>());
  return tensor;
}

/// For each label of a row that begins at `begin`: other than 0 if it is ignored.
std::vector<std::int64_t> ignored_labels(const Tokens& ignored, std::int64_t begin, std::int64_t length) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(length));
  ignored.read(begin + 1, bytes);  // a label is the next token
  return bytes;
}

}  // namespace

BatchPlan::BatchPlan(const DataSettings& data, Tokens tokens, std::optional<Tokens> ignored)
    : count_(std::ssize(data.row_lengths)) {
  Step step{.row_lengths = data.row_lengths,
            .masked = std::vector<bool>(data.row_lengths.size(), false),
            .tokens = std::move(tokens),
            .ignored = std::move(ignored),
            .offsets = {0},
            .rows_before = {0},
            .shuffled = data.shuffle == "windows",
            .seed = data.seed};
  for (const std::int64_t microbatch : data.masked) {
    step.masked.at(static_cast<std::size_t>(microbatch)) = true;
  }
  for (const std::vector<std::int64_t>& rows : step.row_lengths) {
    step.offsets.push_back(std::accumulate(rows.begin(), rows.end(), step.offsets.back()));
    step.rows_before.push_back(step.rows_before.back() + std::ssize(rows));
    step.longest = std::max(step.longest, std::ranges::max(rows));
  }
  const std::int64_t read =
      step.shuffled ? product_of_sizes({step.rows_before.back(), step.longest}) : step.offsets.back();
  const std::int64_t available = step.tokens.size();
  refuse_short_source(data, available, sum_of_sizes({read, 1}));  // the last label is one token further
  step.start =
      static_cast<std::int64_t>(hash64("data/" + std::to_string(data.seed)) % static_cast<std::uint64_t>(available));
  step.windows = (available - 1) / step.longest;
  step_ = std::make_shared<const Step>(std::move(step));
}

BatchPlan BatchPlan::part(std::int64_t part, std::int64_t parts) const {
  BatchPlan made = *this;
  made.count_ = microbatches_of_step() / parts;
  made.first_ = part * made.count_;
  return made;
}

std::vector<std::int64_t> BatchPlan::positions(std::int64_t step, std::int64_t index) const {
  std::vector<std::int64_t> begins;
  std::int64_t position =
      step_->start + step * step_->offsets.back() + step_->offsets.at(static_cast<std::size_t>(index));
  std::int64_t row = step * step_->rows_before.back() + step_->rows_before.at(static_cast<std::size_t>(index));
  for (const std::int64_t length : rows(index)) {
    begins.push_back(step_->shuffled
                         ? shuffled_window(step_->seed, row / step_->windows, row % step_->windows, step_->windows) *
                               step_->longest
                         : position);
    position += length;
    ++row;
  }
  return begins;
}

double BatchPlan::epochs(std::int64_t steps) const {
  const auto [used, all] = step_->shuffled ? std::pair(step_->rows_before.back(), step_->windows)
                                           : std::pair(step_->offsets.back(), step_->tokens.size());
  return static_cast<double>(steps) * static_cast<double>(used) / static_cast<double>(all);
}

std::int64_t BatchPlan::sequence_length(std::int64_t microbatch) const {
  return std::ranges::max(rows(first_ + microbatch));
}

std::int64_t BatchPlan::padded_tokens(std::int64_t microbatch) const {
  return product_of_sizes({batch(microbatch), sequence_length(microbatch)});
}

std::vector<std::int64_t> BatchPlan::padded_rows() const {
  std::vector<std::int64_t> lengths;
  for (std::int64_t m = 0; m < microbatches(); ++m) {
    lengths.insert(lengths.end(), static_cast<std::size_t>(batch(m)), sequence_length(m));
  }
  return lengths;
}

std::int64_t BatchPlan::tokens(std::int64_t microbatch) const {
  const auto& lengths = rows(first_ + microbatch);
  return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
}

std::vector<std::int64_t> BatchPlan::numbers(std::int64_t step, std::int64_t index) const {
  const std::int64_t sequence = std::ranges::max(rows(index));
  const auto half = static_cast<std::size_t>(std::ssize(rows(index)) * sequence);
  std::vector<std::int64_t> both(2 * half, padding_id);
  const std::span labels = std::span(both).subspan(half);
  std::ranges::fill(labels, ignored_label);
  const std::vector<std::int64_t> begins = positions(step, index);
  std::vector<std::int64_t> read;
  for (std::size_t row = 0; row < begins.size(); ++row) {
    const std::int64_t length = rows(index)[row];
    read.resize(static_cast<std::size_t>(length) + 1);
    step_->tokens.read(begins[row], read);
    const auto place = static_cast<std::ptrdiff_t>(row) * sequence;
    std::copy_n(read.begin(), length, both.begin() + place);
    if (masked(index)) continue;
    std::copy_n(read.begin() + 1, length, labels.begin() + place);
    if (!step_->ignored) continue;
    const std::vector<std::int64_t> ignored = ignored_labels(*step_->ignored, begins[row], length);
    for (std::size_t i = 0; i < ignored.size(); ++i) {
      if (ignored[i] != 0) labels[static_cast<std::size_t>(place) + i] = ignored_label;
    }
  }
  return both;
}

Microbatch BatchPlan::make(std::int64_t step, std::int64_t microbatch) const {
  const std::vector<std::int64_t> both = numbers(step, first_ + microbatch);
  const std::span halves(both);
  const std::size_t half = both.size() / 2;
  const std::int64_t rows_held = batch(microbatch);
  const std::int64_t sequence = sequence_length(microbatch);
  return {as_tensor(halves.first(half), rows_held, sequence), as_tensor(halves.subspan(half), rows_held, sequence),
          tokens(microbatch), std::ssize(both) / 2 - std::ranges::count(halves.subspan(half), ignored_label)};
}

std::int64_t BatchPlan::labels_of(std::int64_t step, std::int64_t index) const {
  if (masked(index)) return 0;
  std::int64_t labels = std::accumulate(rows(index).begin(), rows(index).end(), std::int64_t{0});
  if (!step_->ignored) return labels;
  const std::vector<std::int64_t> begins = positions(step, index);
  for (std::size_t row = 0; row < begins.size(); ++row) {
    const std::vector<std::int64_t> ignored = ignored_labels(*step_->ignored, begins[row], rows(index)[row]);
    labels -= std::ssize(ignored) - std::ranges::count(ignored, 0);
  }
  return labels;
}

std::int64_t BatchPlan::step_valid_tokens(std::int64_t step) const {
  const std::lock_guard lock(last_count_->mutex);
  if (last_count_->step == step) return last_count_->labels;
  std::int64_t sum = 0;
  for (std::int64_t index = 0; index < microbatches_of_step(); ++index) sum += labels_of(step, index);
  if (sum > 0) {
    last_count_->step = step;
    return last_count_->labels = sum;
  }
  throw InputError("step " + std::to_string(step) + ": data.ignore leaves no label among its " +
                   std::to_string(step_tokens()) +
                   " tokens, so it has no loss; give longer rows, more microbatches, or another data.seed");
}

std::int64_t BatchPlan::live_tokens(std::int64_t step) const {
  std::vector<bool> live;  // by id
  std::vector<std::int64_t> read;
  for (std::int64_t index = 0; index < microbatches_of_step(); ++index) {
    if (masked(index)) continue;
    const std::vector<std::int64_t> begins = positions(step, index);
    for (std::size_t row = 0; row < begins.size(); ++row) {
      std::int64_t length = rows(index)[row];
      if (step_->ignored) {  // ids after the row's last label are not live
        const std::vector<std::int64_t> ignored = ignored_labels(*step_->ignored, begins[row], length);
        while (length > 0 && ignored[static_cast<std::size_t>(length - 1)] != 0) --length;
      }
      read.resize(static_cast<std::size_t>(length));
      step_->tokens.read(begins[row], read);
      for (const std::int64_t number : read) {
        const auto id = static_cast<std::size_t>(number);
        if (id >= live.size()) live.resize(id + 1);
        live[id] = true;
      }
    }
  }
  return std::ranges::count(live, true);
}

std::vector<std::pair<std::int64_t, std::int64_t>> BatchPlan::equal_microbatches(std::int64_t step) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> equal;
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> last_of;  // by row lengths and content
  for (std::int64_t index = 0; index < microbatches_of_step(); ++index) {
    if (labels_of(step, index) == 0) continue;
    const std::vector<std::int64_t> both = numbers(step, index);
    const std::string_view bytes(reinterpret_cast<const char*>(both.data()), both.size() * sizeof both.front());
    const auto [found, first] = last_of.try_emplace({std::ssize(rows(index)), hash_hex(bytes)}, index);
    if (!first) equal.emplace_back(std::exchange(found->second, index), index);
  }
  return equal;
}

}  // namespace plumbline
