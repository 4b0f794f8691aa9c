// SPDX-License-Identifier: BSD-3-Clause
// Builds one rank's compute list. Each stage's forwards, backwards and weight gradients get ascending microbatches by
// construction, so a generator only chooses the next action.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "schedule/action.hpp"

namespace plumbline {

class ListBuilder {
 public:
  /// Actions of microbatches from `microbatches` on are counted but not written, so that a schedule laid out for more
  /// microbatches keeps its shape.
  explicit ListBuilder(std::int32_t microbatches) : microbatches_(microbatches) {}

  void forward(std::int32_t stage) { write(stage, ActionType::forward, counts_[stage].forward++); }
  /// B: input and weight gradient together.
  void backward(std::int32_t stage) {
    write(stage, ActionType::backward, counts_[stage].input++);
    ++counts_[stage].weight;
  }
  /// I: its W becomes pending.
  void input(std::int32_t stage) {
    write(stage, ActionType::backward_input, counts_[stage].input++);
    owed_.push_back(stage);
  }
  /// W of the stage's next microbatch.
  void weight(std::int32_t stage) { write(stage, ActionType::backward_weight, counts_[stage].weight++); }
  /// W of the oldest pending I; does nothing if there is none. Do not mix with weight(stage).
  void oldest_weight() {
    if (owed_.empty()) return;
    weight(owed_.front());
    owed_.pop_front();
  }

  std::int32_t forwards(std::int32_t stage) { return counts_[stage].forward; }
  std::int32_t weights(std::int32_t stage) { return counts_[stage].weight; }

  ActionList take() { return std::move(list_); }

 private:
  struct Counts {
    std::int32_t forward = 0;
    std::int32_t input = 0;
    std::int32_t weight = 0;
  };

  void write(std::int32_t stage, ActionType type, std::int32_t microbatch) {
    if (microbatch < microbatches_) list_.push_back({stage, type, microbatch});
  }

  std::int32_t microbatches_;
  std::map<std::int32_t, Counts> counts_;
  std::deque<std::int32_t> owed_;
  ActionList list_;
};

}  // namespace plumbline
