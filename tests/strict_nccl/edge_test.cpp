// SPDX-License-Identifier: BSD-3-Clause
// The CUDA and NCCL calls of one edge: which messages make a group, and how each end closes.
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/transport/ranks.hpp"
#include "tests/strict_nccl/forwarding_gpu.hpp"
#include "tests/strict_nccl/mistakes.hpp"
#include "tests/strict_nccl/one_end.hpp"
#include "tests/strict_nccl/strict_run.hpp"

namespace plumbline::strict {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;

/// Groups as passed to the library: "send 24, receive 12".
class NotesGroups : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  void send(const void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
            GpuStream stream) override {
    note("send " + std::to_string(count));
    inner_.send(data, count, type, peer, communicator, stream);
  }
  void receive(void* data, std::size_t count, NcclType type, int peer, NcclCommunicator communicator,
               GpuStream stream) override {
    note("receive " + std::to_string(count));
    inner_.receive(data, count, type, peer, communicator, stream);
  }
  void group_start() override {
    groups.emplace_back();
    inner_.group_start();
  }

  std::vector<std::string> groups;

 private:
  void note(const std::string& call) { groups.back() += (groups.back().empty() ? "" : ", ") + call; }
};

/// Two connected ends; one records its groups. NCCL answers at once.
class Edge : public ::testing::Test {
 protected:
  Edge() {
    while (!(end.edge().connected() && other.edge().connected())) {
    }
  }

  StrictWorld world{2, {.busy_answers = 0}};
  NotesGroups nccl{world.gpu(0).nccl};
  OneEnd end{0, {world.gpu(0).cuda, nccl}};
  OneEnd other{1, world.gpu(1)};
};

TEST_F(Edge, StartsAGroupTogether) {
  end.add({sending(content(0, 1, {5})), sending(content(0, 2, {7}))});
  end.progress();
  EXPECT_THAT(nccl.groups, ElementsAre("send 5, send 7"));
}

TEST_F(Edge, LaunchesOneGroupAfterTheOther) {
  end.add({sending(content(0, 1, {5}))});
  end.add({sending(content(0, 2, {6})), sending(content(0, 3, {7}))});
  end.progress();

  EXPECT_THAT(nccl.groups, ElementsAre("send 5", "send 6, send 7"));
}

TEST_F(Edge, AMessageWithoutElementsArrives) {
  end.send(at::empty({0}));
  const Transfer received = other.receive(at::empty({0}));
  move_on(end, other, [&] { return received->arrived; });

  EXPECT_THAT(world.findings(), IsEmpty());
}

TEST(EdgeEnds, DestructionAbortsCommunicatorAndMessages) {
  StrictWorld world(2, {.busy_answers = 0});
  {
    OneEnd end(0, world.gpu(0));
    OneEnd other(1, world.gpu(1));
    end.send(content(0, 1, {5}));
    for (int i = 0; i < 3; ++i) end.progress();
    EXPECT_THAT(world.leftovers(), ::testing::Not(IsEmpty()));
  }
  EXPECT_THAT(world.leftovers(), IsEmpty());
}

/// The events that compute waits for, and those after messages.
class NotesWaits : public ForwardingCuda {
 public:
  using ForwardingCuda::ForwardingCuda;
  void record(GpuEvent event, GpuStream stream) override {
    if (stream != compute_stream()) behind_messages.push_back(event);
    inner_.record(event, stream);
  }
  void wait(GpuStream stream, GpuEvent event) override {
    if (stream == compute_stream()) waited_for.push_back(event);
    inner_.wait(stream, event);
  }

  std::vector<GpuEvent> behind_messages;
  std::vector<GpuEvent> waited_for;
};

TEST(EdgeOrder, OrdersComputeAfterACompletedMessage) {
  StrictWorld world(2, {.busy_answers = 0});
  NotesWaits cuda(world.gpu(1).cuda);
  OneEnd end(0, world.gpu(0));
  OneEnd receiver(1, {cuda, world.gpu(1).nccl});
  const Transfer received = receiver.receive(at::zeros({5}));
  for (int i = 0; i < 3; ++i) receiver.progress();
  EXPECT_THAT(cuda.waited_for, IsEmpty()) << "nothing has arrived, so compute need not wait";

  end.send(content(0, 1, {5}));
  move_on(end, receiver, [&] { return received->arrived; });

  EXPECT_EQ(cuda.behind_messages.size(), 1U);
  EXPECT_EQ(cuda.waited_for, cuda.behind_messages);
}

}  // namespace
}  // namespace plumbline::strict
