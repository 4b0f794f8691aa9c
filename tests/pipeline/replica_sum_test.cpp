// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/replica_sum.hpp"

#include <ATen/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/transport/threads_transport.hpp"
#include "tests/mutant/forwarding_transport.hpp"
#include "tests/pipeline/transport/ranks.hpp"

namespace plumbline {
namespace {

/// Tensors below, at and above the size of a bucket, and small ones that together exceed one.
const std::vector<std::vector<std::int64_t>> sizes = [] {
  std::vector<std::vector<std::int64_t>> made = {{1}, {7, 3}, {1 << 20, 1}, {5}, {2'100'000}, {2}};
  made.resize(made.size() + 140, {16'000});
  return made;
}();

/// Gradients from `random`, at different offsets for each seed. The small ones share one buffer.
TrainState state_of(const at::Tensor& random, std::int64_t seed, at::ScalarType dtype) {
  TrainState state;
  at::Tensor buffer = at::zeros({140 * 16'000}, dtype);
  for (const auto& size : sizes) {
    const auto number = static_cast<std::int64_t>(state.parameters.size());
    TrainedParameter parameter;
    parameter.name = "p" + std::to_string(number);
    parameter.stage = number % 7 == 0 ? 1 : 0;
    parameter.value = at::zeros(size, dtype);
    const at::Tensor own = random.narrow(0, 101 * number + seed, parameter.value.numel()).view(size);
    parameter.value.mutable_grad() = (own * (1 + static_cast<double>(seed) / 7)).to(dtype);
    if (number >= 6) {
      const at::Tensor gradient = buffer.narrow(0, (number - 6) * 16'000, 16'000);
      parameter.value.mutable_grad() = gradient.copy_(parameter.value.grad());
    }
    state.parameters.push_back(std::move(parameter));
  }
  return state;
}

TrainState copy_of(const TrainState& state) {
  TrainState copy;
  for (const TrainedParameter& each : state.parameters) {
    TrainedParameter parameter;
    parameter.name = each.name;
    parameter.stage = each.stage;
    parameter.value = each.value.clone();
    parameter.value.mutable_grad() = each.gradient().clone();
    copy.parameters.push_back(std::move(parameter));
  }
  return copy;
}

class ReplicaSums : public ::testing::TestWithParam<std::tuple<int, at::ScalarType>> {};

TEST_P(ReplicaSums, AddsInTheOrderOfTheReplicas) {
  const auto [replicas, dtype] = GetParam();
  const int ranks = 2;  // of each pipeline; all second ranks sum other gradients at the same time
  const at::NoGradGuard no_grad;
  at::manual_seed(1);
  const at::Tensor random = at::randn({2'200'000});
  std::vector<TrainState> states, again;
  for (int rank = 0; rank < replicas * ranks; ++rank) {
    states.push_back(state_of(random, rank, dtype));
    again.push_back(copy_of(states.back()));
  }
  std::vector<std::vector<at::Tensor>> expected(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      at::Tensor sum = states[static_cast<std::size_t>(rank)].parameters[i].gradient().clone();
      for (int replica = 1; replica < replicas; ++replica)
        sum.add_(states[static_cast<std::size_t>(replica * ranks + rank)].parameters[i].gradient());
      expected[static_cast<std::size_t>(rank)].push_back(sum);
    }
  }
  std::vector<std::vector<float>> losses(states.size());
  run_on_threads(make_threads_transports(replicas * ranks, {}), Ending::clean, [&](Transport& transport) {
    const int rank = transport.rank();
    const auto index = static_cast<std::size_t>(rank);
    ReplicaSum group(Group(transport, rank % ranks, ranks, replicas), at::kCPU);
    for (std::int64_t step = 0; step < 2; ++step) {
      if (step == 1) states[index] = std::move(again[index]);
      for (const std::int64_t stage : {0, 1}) group.start(step, stage, states[index]);
      group.finish();
      losses[index] = group.gather(step, rank % ranks, {static_cast<float>(rank), 0.5F});
    }
  });
  for (int rank = 0; rank < replicas * ranks; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_TRUE(states[index].parameters[i].gradient().equal(expected[index % ranks][i]))
          << "rank " << rank << ", parameter " << i;
    }
    std::vector<float> all;
    for (int replica = 0; replica < replicas; ++replica) {
      all.push_back(static_cast<float>(replica * ranks + rank % ranks));
      all.push_back(0.5F);
    }
    EXPECT_EQ(losses[index], all);
  }
}

INSTANTIATE_TEST_SUITE_P(Replicas, ReplicaSums,
                         ::testing::Values(std::tuple(2, at::kBFloat16), std::tuple(3, at::kFloat),
                                           std::tuple(4, at::kFloat), std::tuple(4, at::kBFloat16)));

/// Counts the bytes of messages that are started and not yet waited for.
class OpenBytes : public mutant::ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  Pending send(int peer, const MessageHeader& header, at::Tensor payload) override {
    return counted(header, inner_.send(peer, header, std::move(payload)));
  }
  Pending receive(int peer, const MessageHeader& expected, at::Tensor into) override {
    return counted(expected, inner_.receive(peer, expected, std::move(into)));
  }
  std::int64_t peak() const { return peak_; }

 private:
  Pending counted(const MessageHeader& header, Pending inner) {
    const std::int64_t bytes = header.sizes[0] * static_cast<std::int64_t>(sizeof(float));
    open_ += bytes;
    peak_ = std::max(peak_, open_);
    return mutant::with_wait(std::move(inner), [this, bytes](Pending& message) {
      open_ -= bytes;
      return message->wait();
    });
  }
  std::int64_t open_ = 0, peak_ = 0;
};

// The window has one bucket before and one after the bucket that is added; the gradients are ten times as large.
TEST(ReplicaSumsWindow, HasThreeBuckets) {
  const at::NoGradGuard no_grad;
  constexpr std::int64_t window = 3 * ReplicaSum::bucket_bytes;
  std::array<std::int64_t, 2> peaks{};
  run_on_threads(make_threads_transports(2, {}), Ending::clean, [&](Transport& transport) {
    TrainState state;
    state.parameters.emplace_back().value = at::zeros({10 * window / static_cast<std::int64_t>(sizeof(float))});
    state.parameters[0].value.mutable_grad() = at::ones_like(state.parameters[0].value);
    OpenBytes counted(transport);
    ReplicaSum sum(Group(counted), at::kCPU);
    sum.start(0, 0, state);
    sum.finish();
    peaks.at(static_cast<std::size_t>(transport.rank())) = counted.peak();
  });
  EXPECT_THAT(peaks, ::testing::Each(window));
}

TEST(ReplicaSumsProgress, SumsAStageWhileTheOtherStillComputes) {
  run_on_threads(make_threads_transports(2, {}), Ending::clean, [](Transport& transport) {
    const at::NoGradGuard no_grad;
    TrainState state;
    for (const std::int64_t stage : {0, 1}) {
      TrainedParameter& made = state.parameters.emplace_back();
      made.stage = stage;
      made.value = at::zeros({8});
      made.value.mutable_grad() = at::ones({8});
    }
    const auto of = [&](std::size_t stage) { return state.parameters[stage].gradient().sum().item<float>(); };
    ReplicaSum sum(Group(transport), at::kCPU);
    sum.start(0, 1, state);
    while (of(1) < 16) sum.progress();  // without a call that blocks
    EXPECT_EQ(of(0), 8);
    EXPECT_EQ(of(1), 16);
    sum.start(0, 0, state);
    sum.finish();
    EXPECT_EQ(of(0), 16);
  });
}

TEST(Groups, NumberTheirRanksAndCountBoundaryTensors) {
  auto transports = make_threads_transports(4, {});
  Group own(*transports[3], 2, 1, 2);
  EXPECT_EQ(own.rank(), 1);
  EXPECT_EQ(own.size(), 2);
  EXPECT_EQ(own.in_world(0), 2);
  EXPECT_THROW(Group(*transports[3], {0, 1}), std::logic_error);
  MessageHeader header;
  header.dtype = static_cast<std::int32_t>(at::kFloat);
  header.dimensions = 1;
  header.sizes = {2};
  MessageHeader boundary = header;
  boundary.to_stage = 1;
  std::vector<std::jthread> others;
  for (const int rank : {0, 1, 2}) {
    others.emplace_back([&, rank] {
      Transport& transport = *transports[static_cast<std::size_t>(rank)];
      if (rank > 0) transport.receive(3, rank == 2 ? boundary : header)->wait();
      transport.finish();
    });
  }
  Pending to_other_replica = transports[3]->send(1, header, at::zeros({2}));
  Pending to_neighbor = own.send(0, boundary, at::zeros({2}));
  to_other_replica->wait();
  to_neighbor->wait();
  const auto traffic = own.collect_traffic();
  ASSERT_EQ(traffic.size(), 1U);
  EXPECT_EQ(traffic.front().peer, 0) << "rank 0 of the group is rank 2 of the run";
  transports[3]->finish();
}

}  // namespace
}  // namespace plumbline
