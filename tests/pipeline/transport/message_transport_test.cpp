// SPDX-License-Identifier: BSD-3-Clause
// Checks of MessageTransport that no real channel triggers, with channels that report false results.
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

/// A link's payloads, where `replace` changes the reported sizes.
class OverriddenPayloads : public PayloadChannel {
 public:
  OverriddenPayloads(Link& link, std::function<Moved(Moved)> replace) : inner_(link), replace_(std::move(replace)) {}
  bool respects_capacity() const override { return inner_.respects_capacity(); }
  Handle send(int peer, Direction direction, const at::Tensor& payload) override {
    return inner_.send(peer, direction, payload);
  }
  Handle receive(int peer, Direction direction) override { return inner_.receive(peer, direction); }
  void supply(Handle receive, const at::Tensor& buffer) override { inner_.supply(receive, buffer); }
  Moved test(Handle handle) override { return replace_(inner_.test(handle)); }

 private:
  LinkPayloads inner_;
  std::function<Moved(Moved)> replace_;
};

/// Two ranks in one thread; rank 0 has the channel with `replace_`.
class LyingChannel : public ::testing::Test {
 protected:
  void SetUp() override {
    const TransportSettings settings;
    for (auto& link : make_threads_links(2)) {
      std::unique_ptr<PayloadChannel> payloads;
      if (ranks_.empty())
        payloads = std::make_unique<OverriddenPayloads>(*link, [this](Moved moved) { return replace_(moved); });
      ranks_.push_back(std::make_unique<MessageTransport>(std::move(link), settings, std::move(payloads)));
    }
  }
  Transport& rank(std::size_t index) { return *ranks_[index]; }

  std::function<Moved(Moved)> replace_ = [](Moved moved) { return moved; };
  std::vector<std::unique_ptr<Transport>> ranks_;
};

TEST_F(LyingChannel, ASendIsPendingUntilItsHeaderIsRead) {
  const at::Tensor payload = content(0, 0, {2, 2});
  replace_ = [&](Moved) { return payload.nbytes(); };
  const OperationId sent = rank(0).post({send_to(rank(0), 1, 0, payload)}).at(0);

  EXPECT_FALSE(rank(0).test(sent));

  const OperationId received = rank(1).post({receive_from(rank(1), 0, 0, {2, 2})}).at(0);
  while (!rank(0).test(sent)) rank(1).test(received);
}

TEST_F(LyingChannel, AShortPayloadIsAnError) {
  replace_ = [](Moved moved) { return moved ? Moved(*moved - 4) : moved; };
  const OperationId received = rank(0).post({receive_from(rank(0), 1, 0, {2, 2})}).at(0);
  rank(1).post({send_to(rank(1), 0, 0, content(1, 0, {2, 2}))});

  EXPECT_THAT(testing::error_of<RunError>([&] {
                while (!rank(0).test(received)) {
                }
              }),
              HasSubstr("12 bytes came in place of 16"));
}

TEST_F(LyingChannel, UnknownOperationsAreRefused) {
  EXPECT_THAT(thrown_by<std::logic_error>([&] { rank(0).test(7); }), HasSubstr("was never posted"));
}

TEST_F(LyingChannel, InvalidPeersAreRefused) {
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

/// What a rank's heartbeat says of it.
TEST_F(LyingChannel, WaitCallbackSeesEachPeerOnce) {
  std::vector<int> shown;
  std::atomic<bool> waits = false;
  rank(0).set_wait_callback([&](int peer) {
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

  rank(0).wait_for_sends();

  EXPECT_THAT(shown, ::testing::ElementsAre(1, -1));
}

/// A channel whose rank 0 sends the others a text at the start.
class TellingPayloads : public OverriddenPayloads {
 public:
  TellingPayloads(Link& link, std::string& text)
      : OverriddenPayloads(link, [](Moved moved) { return moved; }), text_(text) {}
  void connect(const std::vector<RankPair>&, Control& control, const Control::Wait&) override {
    text_ = control.broadcast(text_);
  }

 private:
  std::string& text_;
};

// A rank that is still starting may receive from a rank whose own start has failed: it reads that rank's memory.
TEST(FailedStart, KeepsSentMemoryAlive) {
  const std::string message(100, 'x');
  std::vector<std::string> texts = {message, ""};
  TransportSettings settings;
  settings.start_timeout = std::chrono::milliseconds(1);
  std::vector<std::unique_ptr<Transport>> ranks;
  for (auto& link : make_threads_links(2)) {
    auto payloads = std::make_unique<TellingPayloads>(*link, texts[ranks.size()]);
    ranks.push_back(std::make_unique<MessageTransport>(std::move(link), settings, std::move(payloads)));
  }
  EXPECT_THROW(ranks[0]->connect({}), RunError);

  ranks[1]->connect({});

  EXPECT_EQ(texts[1], message);
}

}  // namespace
}  // namespace plumbline
