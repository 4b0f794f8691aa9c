// SPDX-License-Identifier: BSD-3-Clause
// Action lists executed over the NCCL transport and the strict libraries, with a few bytes per message.
#pragma once

#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "pipeline/transport/group.hpp"
#include "schedule/message.hpp"
#include "schedule/schedule.hpp"
#include "tests/strict_nccl/strict_run.hpp"

namespace plumbline::strict {

/// A rank that executes its list as the executor does: consecutive messages are one batch; compute is queued on its
/// stream without waiting, and the host frees an input with the backward pass, whose kernels may still be queued.
class ListExecutor {
 public:
  using Times = std::map<ActionType, std::chrono::microseconds>;

  /// `kept`: keeps the results of kernels until the world is destroyed, since a failed rank leaves some in use.
  ListExecutor(StrictWorld& world, Transport& transport, const Schedule& schedule, std::vector<at::Tensor>& kept,
               const Times& times)
      : world_(world), transport_(transport), placement_(schedule.placement), kept_(kept), times_(times) {}

  void run(const ActionList& list) {
    for (auto next = list.begin(); next != list.end();) {
      const auto end =
          std::find_if_not(next, list.end(), [](const Action& each) { return is_communication(each.type); });
      if (next != end) {
        post({next, end});
        next = end;
      } else {
        execute(*next++);
      }
    }
    transport_.wait_for_sends();
    while (!world_.compute_idle(transport_.rank())) std::this_thread::yield();
  }

 private:
  using Key = std::tuple<std::int32_t, std::int32_t, Direction>;  ///< stage, microbatch
  struct Input {
    at::Tensor tensor;
    float expected = 0;
  };

  static float content(std::int32_t from, std::int32_t microbatch, Direction direction) {
    return static_cast<float>(1000 * from + 10 * microbatch + (direction == Direction::forward ? 0 : 1));
  }
  static at::Tensor memory() { return at::full({4}, -1, at::kFloat); }

  void post(const ActionList& batch) {
    for (const Action& action : batch) {
      const std::int32_t other = partner(action).stage;
      const bool sends = is_send(action.type);
      const int peer = placement_.rank_of(other);
      MessageHeader header;
      header.direction = direction_of(action.type);
      header.from_stage = sends ? action.stage : other;
      header.to_stage = sends ? other : action.stage;
      header.microbatch = action.microbatch;
      header.dtype = static_cast<std::int32_t>(at::kFloat);
      header.dimensions = 1;
      header.sizes = {4};
      const Key key{action.stage, action.microbatch, header.direction};
      if (sends) {
        transport_.send(peer, header, made_.at(key));
      } else {
        coming_.emplace(key, transport_.receive(peer, header));
      }
    }
    transport_.end_batch();
  }

  void execute(const Action& action) {
    switch (action.type) {
      case ActionType::forward:
        return compute(action, Direction::forward, action.stage - 1);
      case ActionType::backward:
      case ActionType::backward_input:
        return compute(action, Direction::backward, action.stage + 1);
      case ActionType::backward_weight:
        return launch(action, {}, memory(), 0);
      case ActionType::reduce:
        return reduce(action);
      default:
        transport_.wait_for_payloads();
        return transport_.barrier();
    }
  }

  void compute(const Action& action, Direction direction, std::int32_t from) {
    std::vector<Input> inputs;
    if (direction == Direction::backward) {
      if (const auto kept = inputs_.extract({action.stage, action.microbatch, Direction::forward})) {
        inputs.push_back(kept.mapped());
      }
    }
    if (auto coming = coming_.extract({action.stage, action.microbatch, direction})) {
      inputs.push_back({coming.mapped()->wait(), content(from, action.microbatch, direction)});
      if (direction == Direction::forward) inputs_[{action.stage, action.microbatch, direction}] = inputs.back();
    }
    const at::Tensor output = memory();
    made_[{action.stage, action.microbatch, direction}] = output;
    launch(action, inputs, output, content(action.stage, action.microbatch, direction));
  }

  void launch(const Action& action, const std::vector<Input>& inputs, const at::Tensor& output, float value) {
    kept_.push_back(output);
    Kernel kernel{.name = "compute", .reads = {}, .writes = {range(output)}, .body = {}};
    std::vector<std::pair<const float*, float>> expected;
    for (const Input& each : inputs) {
      kernel.reads.push_back(range(each.tensor));
      expected.emplace_back(each.tensor.const_data_ptr<float>(), each.expected);
    }
    kernel.body = [expected, data = output.data_ptr<float>(), value] {
      for (const auto& [read, there] : expected) EXPECT_EQ(read[3], there);
      std::fill_n(data, 4, value);
    };
    if (const auto time = times_.find(action.type); time != times_.end()) kernel.time = time->second;
    world_.launch(transport_.rank(), std::move(kernel));
  }
  static Range range(const at::Tensor& tensor) { return {tensor.const_data_ptr(), tensor.nbytes()}; }

  void reduce(const Action& action) {
    const bool head = action.stage != 0;
    const int peer = placement_.rank_of(head ? 0 : placement_.stages() - 1);
    transport_.wait_for_payloads();
    if (peer == transport_.rank()) return;
    at::Tensor tensor = memory().view({2, 2});
    const MessageHeader to_first = tied_gradient_header(0, placement_.stages() - 1, false, tensor);
    const MessageHeader to_last = tied_gradient_header(0, placement_.stages() - 1, true, tensor);
    if (head) {
      transport_.send(peer, to_first, tensor)->wait();
      transport_.receive(peer, to_last, tensor)->wait();
    } else {
      transport_.receive(peer, to_first)->wait();
      transport_.send(peer, to_last, tensor)->wait();
    }
  }

  StrictWorld& world_;
  Transport& transport_;
  Placement placement_;
  std::map<Key, at::Tensor> made_;
  std::map<Key, Pending> coming_;
  std::map<Key, Input> inputs_;  ///< of forward passes, kept until the backward pass
  std::vector<at::Tensor>& kept_;
  const Times& times_;
};

struct ListsOutcome : Outcome {
  std::vector<Computed> computed;  ///< by rank
};

/// Runs the lists on all ranks. `times`: duration of each type of action.
inline ListsOutcome run_lists(const Schedule& lowered, bool tied, RunOptions options,
                              const ListExecutor::Times& times = {}) {
  std::vector<std::vector<at::Tensor>> kept(lowered.ranks.size());
  options.ranks = lowered.placement.ranks;
  options.connect = false;
  StrictWorld world(options.ranks, options.behavior);
  ListsOutcome outcome{run_strict(world, options,
                                  [&](Transport& t) {
                                    t.connect(connections_of(lowered.placement, tied));
                                    t.barrier();
                                    const auto rank = static_cast<std::size_t>(t.rank());
                                    ListExecutor(world, t, lowered, kept.at(rank), times).run(lowered.ranks.at(rank));
                                  }),
                       {}};
  for (int rank = 0; rank < options.ranks; ++rank) outcome.computed.push_back(world.computed(rank));
  return outcome;
}

}  // namespace plumbline::strict
