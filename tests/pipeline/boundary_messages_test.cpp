// SPDX-License-Identifier: BSD-3-Clause
// What a rank posts and receives at its stage boundaries. The middle rank of three, with a transport that only records
// its calls.
#include "pipeline/boundary_messages.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <ostream>
#include <stdexcept>
#include <utility>

#include "model/unit.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "schedule/message.hpp"
#include "tests/mutant/forwarding_transport.hpp"
#include "tests/paths.hpp"
#include "tests/pipeline/transport/ranks.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Notes = std::vector<std::string>;

/// Records what is started; the elements of a received tensor are the message's number.
class RecordingTransport : public mutant::ForwardingTransport {
 public:
  using ForwardingTransport::ForwardingTransport;
  int rank() const override { return 1; }
  int size() const override { return 3; }
  Pending send(int peer, const MessageHeader& header, at::Tensor payload) override {
    return start({true, peer, header, std::move(payload)});
  }
  Pending receive(int peer, const MessageHeader& expected, at::Tensor /*into*/) override {
    return start({false, peer, expected, {}});
  }
  void end_batch() override { ++batches; }
  void wait_for_sends() override { ended.assign(started.size(), true); }

  std::vector<Message> started;
  std::vector<bool> ended;
  int batches = 0;

 private:
  struct Recorded : MessageInProgress {
    Recorded(const std::vector<bool>& its_ended, std::size_t its_number) : ended(its_ended), number(its_number) {}
    bool test() override { return ended.at(number); }
    at::Tensor wait() override { return at::full({1}, static_cast<double>(number)); }
    const std::vector<bool>& ended;
    std::size_t number;
  };
  Pending start(Message message) {
    started.push_back(std::move(message));
    return std::make_shared<Recorded>(ended, started.size() - 1);
  }
};

class RecordingObserver : public StepObserver {
 public:
  void action_began(const StepAction& action) override { notes.push_back("began " + action.text); }
  void action_ended(const StepAction& action) override { notes.push_back("ended " + action.text); }
  void waiting(const StepAction& action, const StepAction& awaited, int peer) override {
    notes.push_back(action.text + " waits in " + awaited.text + " for rank " + std::to_string(peer));
  }
  void waited(const StepAction& action, std::int64_t nanoseconds) override {
    notes.push_back(action.text + (nanoseconds >= 0 && nanoseconds < 1'000'000'000 ? " waited" : " waited for ever"));
  }
  void on_boundary(const BoundaryTensor& boundary, const at::Tensor& /*tensor*/) override {
    notes.push_back(std::string(boundary.side) + " " + boundary.direction + " " + boundary.boundary + ", stage " +
                    std::to_string(*boundary.from_stage) + " to " + std::to_string(*boundary.to_stage) + ", rank " +
                    std::to_string(*boundary.peer) + ", step " + std::to_string(boundary.step) + ", microbatch " +
                    std::to_string(boundary.microbatch));
  }
  Notes notes;
};

class MiddleRank : public ::testing::Test {
 protected:
  MiddleRank() : run_(load_run(testing::fixtures_path() + "/runs/quick.toml", std::nullopt)) {
    plan_.schedule.placement.ranks = 3;
    plan_.stages = {{0, 2}, {2, 4}, {4, 8}};
  }
  ~MiddleRank() override { alone_->finish(); }
  void post(const std::vector<std::string>& texts) {
    std::vector<Action> batch;
    for (const std::string& text : texts) batch.push_back(parse_action(text).value());
    messages_.post(7, 4, batch);
  }
  at::Tensor receive_input(const std::string& text, Direction direction) {
    const Action action = parse_action(text).value();
    return messages_.receive_input(observed(7, 9, action), action, direction);
  }
  void stash_output(const std::string& text, Direction direction, at::Tensor tensor) {
    messages_.stash_output(parse_action(text).value(), direction, std::move(tensor));
  }

  plumbline::Run run_;
  PipelinePlan plan_;
  std::unique_ptr<Transport> alone_ = std::move(make_threads_transports(1, {}).front());
  RecordingTransport transport_{*alone_};
  Group group_{transport_};
  RecordingObserver seen_;
  BoundaryMessages messages_{run_, plan_, run_.batches, group_, seen_};
};

struct Tested {
  const char* action;
  int peer;
  Direction direction;
  std::int32_t from, to;
};

void PrintTo(const Tested& tested, std::ostream* out) {
  *out << tested.action;
}

class HeaderOf : public MiddleRank, public ::testing::WithParamInterface<Tested> {};

// Both ends make the header from their own lists, so a field that neither end sets would agree.
TEST_P(HeaderOf, AMessageDescribesTheBoundaryTensor) {
  const auto [action, peer, direction, from, to] = GetParam();
  stash_output("1F3", Direction::forward, at::full({1}, 0.5));
  stash_output("1B3", Direction::backward, at::full({1}, 0.5));

  post({action});

  ASSERT_EQ(transport_.started.size(), 1U);
  EXPECT_EQ(transport_.started[0].peer, peer);
  EXPECT_EQ(transport_.started[0].sends, is_send(parse_action(action)->type));
  EXPECT_EQ(transport_.batches, 1);
  MessageHeader expected;
  expected.direction = direction;
  expected.from_stage = from;
  expected.to_stage = to;
  expected.step = 7;
  expected.microbatch = 3;
  expected.dtype = static_cast<std::int32_t>(at::kFloat);
  expected.dimensions = 3;
  expected.sizes = {2, 1, run_.config.hidden_size, 0};
  EXPECT_EQ(transport_.started[0].header, expected) << describe(transport_.started[0].header);
}

INSTANTIATE_TEST_SUITE_P(, HeaderOf,
                         ::testing::Values(Tested{"1RECV_F3", 0, Direction::forward, 0, 1},
                                           Tested{"1SEND_F3", 2, Direction::forward, 1, 2},
                                           Tested{"1RECV_B3", 2, Direction::backward, 2, 1},
                                           Tested{"1SEND_B3", 0, Direction::backward, 1, 0}),
                         [](const auto& tested) { return std::string(tested.param.action); });

TEST_F(MiddleRank, ReceivesInputsAndNotifiesTheObserver) {
  post({"1RECV_F0", "1RECV_B1"});
  seen_.notes.clear();

  const at::Tensor activation = receive_input("1F0", Direction::forward),
                   gradient = receive_input("1B1", Direction::backward);

  EXPECT_EQ(activation.item<float>(), 0);
  EXPECT_EQ(gradient.item<float>(), 1);
  const std::string middle = unit_names(run_.config)[2], last = unit_names(run_.config)[4];
  EXPECT_THAT(seen_.notes, ElementsAre("1F0 waits in 1RECV_F0 for rank 0", "ended 1RECV_F0", "1F0 waited",
                                       "receive forward " + middle + ", stage 0 to 1, rank 0, step 7, microbatch 0",
                                       "1B1 waits in 1RECV_B1 for rank 2", "ended 1RECV_B1", "1B1 waited",
                                       "receive backward " + last + ", stage 2 to 1, rank 2, step 7, microbatch 1"));
}

TEST_F(MiddleRank, SendsAContiguousOutputAndNotifiesTheObserver) {
  stash_output("1F2", Direction::forward, at::arange(6).view({2, 3}).t());

  post({"1SEND_F2"});

  ASSERT_EQ(transport_.started.size(), 1U);
  const at::Tensor& payload = transport_.started[0].payload;
  EXPECT_TRUE(payload.is_contiguous());
  EXPECT_TRUE(payload.equal(at::arange(6).view({2, 3}).t()));
  EXPECT_THAT(seen_.notes, ElementsAre("began 1SEND_F2", "send forward " + unit_names(run_.config)[4] +
                                                             ", stage 1 to 2, rank 2, step 7, microbatch 2"));
  EXPECT_THROW(post({"1SEND_F2"}), std::logic_error) << "the output was taken already";
}

TEST_F(MiddleRank, NotifiesTheObserverOfACompletedSend) {
  for (const char* each : {"1F0", "1F1", "1F2"}) stash_output(each, Direction::forward, at::full({1}, 0.5));
  post({"1SEND_F0", "1SEND_F1", "1SEND_F2"});
  seen_.notes.clear();

  transport_.ended = {false, true, false};
  messages_.retire_completed_sends();
  EXPECT_THAT(seen_.notes, ElementsAre("ended 1SEND_F1"));

  seen_.notes.clear();
  messages_.wait_for_sends();
  EXPECT_THAT(seen_.notes, ElementsAre("ended 1SEND_F0", "ended 1SEND_F2"));

  seen_.notes.clear();
  messages_.wait_for_sends();
  EXPECT_THAT(seen_.notes, IsEmpty());
}

TEST_F(MiddleRank, NumbersActionsFromTheFirstOfTheBatch) {
  class Indices : public StepObserver {
   public:
    void action_began(const StepAction& action) override { seen.push_back(action.index); }
    std::vector<std::int64_t> seen;
  } indices;
  BoundaryMessages messages(run_, plan_, run_.batches, group_, indices);

  messages.post(7, 4, std::vector{parse_action("1RECV_F0").value(), parse_action("1RECV_F1").value()});

  EXPECT_THAT(indices.seen, ElementsAre(4, 5));
}

}  // namespace
}  // namespace plumbline
