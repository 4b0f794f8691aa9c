// SPDX-License-Identifier: BSD-3-Clause
// Guards of MessageTransport that no channel of ours trips, by channels that do not tell the truth.
#include "pipeline/transport/message_transport.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

#include "pipeline/transport/link_payloads.hpp"
#include "pipeline/transport/threads_link.hpp"
#include "pipeline/transport/transport_settings.hpp"
#include "support/error.hpp"
#include "tests/pipeline/transport/ranks.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using Moved = std::optional<std::size_t>;

/// A link's payloads, of which `told` says what has moved.
class ToldPayloads : public PayloadChannel {
 public:
  ToldPayloads(Link& link, std::function<Moved(Moved)> told) : inner_(link), told_(std::move(told)) {}
  bool respects_capacity() const override { return inner_.respects_capacity(); }
  Ticket send(int peer, Direction direction, const at::Tensor& payload) override {
    return inner_.send(peer, direction, payload);
  }
  Ticket receive(int peer, Direction direction) override { return inner_.receive(peer, direction); }
  void supply(Ticket receive, const at::Tensor& buffer) override { inner_.supply(receive, buffer); }
  Moved test(Ticket ticket) override { return told_(inner_.test(ticket)); }

 private:
  LinkPayloads inner_;
  std::function<Moved(Moved)> told_;
};

/// Two ranks in one thread; `told` is rank 0's channel.
class LyingChannel : public ::testing::Test {
 protected:
  void SetUp() override {
    const TransportSettings settings;
    for (auto& link : make_threads_links(2)) {
      std::unique_ptr<PayloadChannel> payloads;
      if (ranks_.empty())
        payloads = std::make_unique<ToldPayloads>(*link, [this](Moved moved) { return told_(moved); });
      ranks_.push_back(std::make_unique<MessageTransport>(std::move(link), settings, std::move(payloads)));
    }
  }
  Transport& rank(std::size_t index) { return *ranks_[index]; }

  std::function<Moved(Moved)> told_ = [](Moved moved) { return moved; };
  std::vector<std::unique_ptr<Transport>> ranks_;
};

TEST_F(LyingChannel, ASendHasNotEndedWhileItsHeaderIsStillRead) {
  const at::Tensor payload = content(0, 0, {2, 2});
  told_ = [&](Moved) { return payload.nbytes(); };
  const OperationId sent = rank(0).post({send_to(rank(0), 1, 0, payload)}).at(0);

  EXPECT_FALSE(rank(0).test(sent));

  const OperationId received = rank(1).post({receive_from(rank(1), 0, 0, {2, 2})}).at(0);
  while (!rank(0).test(sent)) rank(1).test(received);
}

TEST_F(LyingChannel, FewerBytesThanTheTensorHasAreAnError) {
  told_ = [](Moved moved) { return moved ? Moved(*moved - 4) : moved; };
  const OperationId received = rank(0).post({receive_from(rank(0), 1, 0, {2, 2})}).at(0);
  rank(1).post({send_to(rank(1), 0, 0, content(1, 0, {2, 2}))});

  EXPECT_THAT(testing::error_of<RunError>([&] {
                while (!rank(0).test(received)) {
                }
              }),
              HasSubstr("12 bytes came in place of 16"));
}

TEST_F(LyingChannel, WhatWasNeverPostedIsNotAskedFor) {
  EXPECT_THAT(thrown_by<std::logic_error>([&] { rank(0).test(7); }), HasSubstr("was never posted"));
}

TEST_F(LyingChannel, OnlyMessagesToOtherRanksOfTheWorldArePosted) {
  for (const int nobody : {-1, 0, 2}) {
    EXPECT_THAT(thrown_by<std::logic_error>([&] {
                  rank(0).post({receive_from(rank(0), nobody, 0, {2, 2})});
                }),
                HasSubstr("a message to or from rank " + std::to_string(nobody) + " cannot be posted by rank 0 of 2"));
  }
  Operation computes = receive_from(rank(0), 1, 0, {2, 2});
  computes.action.type = ActionType::forward;
  EXPECT_THAT(thrown_by<std::logic_error>([&] { rank(0).post({computes}); }), HasSubstr("only messages"));
}

/// What a rank's progress page says of it.
TEST_F(LyingChannel, WhomItsSendsWaitForIsShownOnceAndThatNobodyIsLeft) {
  std::vector<int> shown;
  std::atomic<bool> waits = false;
  rank(0).show_waits([&](int peer) {
    shown.push_back(peer);
    waits = true;
  });
  rank(0).post({send_to(rank(0), 1, 0, content(0, 0, {2, 2})), send_to(rank(0), 1, 1, content(0, 1, {2, 2}))});
  std::jthread other([&] {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!waits && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
    for (const OperationId each :
         rank(1).post({receive_from(rank(1), 0, 0, {2, 2}), receive_from(rank(1), 0, 1, {2, 2})})) {
      rank(1).wait(each);
    }
  });

  rank(0).reap_sends();

  EXPECT_THAT(shown, ::testing::ElementsAre(1, -1));
}

/// A channel whose rank 0 tells the others a text at the start.
class TellingPayloads : public ToldPayloads {
 public:
  TellingPayloads(Link& link, std::string& text) : ToldPayloads(link, [](Moved moved) { return moved; }), text_(text) {}
  void connect(const std::vector<RankPair>&, Control& control, const Control::Wait&) override {
    text_ = control.broadcast(text_);
  }

 private:
  std::string& text_;
};

// A rank that still starts may take what a rank has sent whose own start has failed: it reads that rank's memory.
TEST(FailedStart, WhatARankHasSentStaysInItsPlace) {
  const std::string told(100, 'x');
  std::vector<std::string> texts = {told, ""};
  TransportSettings settings;
  settings.start_timeout = std::chrono::milliseconds(1);
  std::vector<std::unique_ptr<Transport>> ranks;
  for (auto& link : make_threads_links(2)) {
    auto payloads = std::make_unique<TellingPayloads>(*link, texts[ranks.size()]);
    ranks.push_back(std::make_unique<MessageTransport>(std::move(link), settings, std::move(payloads)));
  }
  EXPECT_THROW(ranks[0]->connect({}), RunError);

  ranks[1]->connect({});

  EXPECT_EQ(texts[1], told);
}

}  // namespace
}  // namespace plumbline
