// SPDX-License-Identifier: BSD-3-Clause
// Checks of MessageTransport that no real endpoint triggers, with an endpoint that sends other bodies than it gets.
#include "pipeline/transport/message_transport.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "pipeline/transport/message.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "pipeline/transport/transport.hpp"
#include "support/error.hpp"
#include "tests/pipeline/transport/ranks.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using Replace = std::function<ConstBytes(ConstBytes body)>;

/// `replace` changes the bodies of outgoing payloads.
class LyingEndpoint : public Endpoint {
 public:
  LyingEndpoint(std::unique_ptr<Endpoint> inner, const Replace& replace)
      : inner_(std::move(inner)), replace_(replace) {}
  int rank() const override { return inner_->rank(); }
  int world_size() const override { return inner_->world_size(); }
  std::unique_ptr<TransportRequest> send(int peer, Channel channel, ConstBytes head, ConstBytes body) override {
    return inner_->send(peer, channel, head, channel == Channel::forward ? replace_(body) : body);
  }
  std::unique_ptr<TransportRequest> receive(int peer, Channel channel, Bytes head, Place place) override {
    return inner_->receive(peer, channel, head, std::move(place));
  }
  void idle(std::chrono::steady_clock::time_point deadline) override { inner_->idle(deadline); }
  void abort(const std::string& reason, ExitCode code) noexcept override { inner_->abort(reason, code); }
  void close() override { inner_->close(); }

 private:
  std::unique_ptr<Endpoint> inner_;
  const Replace& replace_;
};

/// Two ranks in one thread.
class TwoRanks : public ::testing::Test {
 protected:
  TwoRanks() {
    for (auto& endpoint : make_threads_endpoints(2)) {
      auto lying = std::make_unique<LyingEndpoint>(std::move(endpoint), replace_);
      ranks_.push_back(std::make_unique<MessageTransport>(std::move(lying), TransportSettings{}));
    }
  }
  Transport& rank(std::size_t index) { return *ranks_[index]; }
  /// The error on rank 0 for a message of 16 bytes from rank 1.
  std::string error_of_message() {
    Pending received = post_one(rank(0), receive_from(rank(0), 1, 0, {2, 2}));
    post(rank(1), {send_to(rank(1), 0, 0, content(1, 0, {2, 2}))});
    return testing::error_of<RunError>([&] {
      while (!received->test()) {
      }
    });
  }

  Replace replace_ = [](ConstBytes body) { return body; };
  std::vector<std::unique_ptr<Transport>> ranks_;
};

TEST_F(TwoRanks, AShorterPayloadIsAnError) {
  replace_ = [](ConstBytes body) { return body.first(12); };
  EXPECT_THAT(error_of_message(), HasSubstr("rank 0, RECV_F microbatch 0 from rank 1, 2x2 float32: 12 bytes arrived "
                                            "instead of 16"));
}

TEST_F(TwoRanks, AMissingPayloadIsAnError) {
  replace_ = [](ConstBytes) { return ConstBytes(); };
  EXPECT_THAT(error_of_message(), HasSubstr("0 bytes arrived instead of 16"));
}

TEST_F(TwoRanks, ALongerPayloadIsAnError) {
  const std::array<std::byte, 400> longer{};
  replace_ = [&](ConstBytes) { return ConstBytes(longer); };
  EXPECT_THAT(error_of_message(), HasSubstr("400 bytes arrived instead of 16"));
}

TEST_F(TwoRanks, AnEarlyPayloadWaitsInItsHandle) {
  Pending sent = post_one(rank(0), send_to(rank(0), 1, 0, content(0, 0, {2, 2})));
  EXPECT_FALSE(sent->test());

  Pending received = post_one(rank(1), receive_from(rank(1), 0, 0, {2, 2}));
  EXPECT_TRUE(received->test());
  EXPECT_TRUE(sent->test());
  EXPECT_TRUE(received->wait().equal(content(0, 0, {2, 2})));
}

TEST_F(TwoRanks, AHandleMayOutliveItsTransport) {
  std::vector<Pending> kept;
  kept.push_back(post_one(rank(0), send_to(rank(0), 1, 0, content(0, 0, {2, 2}))));
  kept.push_back(post_one(rank(0), receive_from(rank(0), 1, 0, {2, 2})));
  ranks_.clear();
}

TEST_F(TwoRanks, InvalidPeersAreRefused) {
  for (const int peer : {-1, 0, 2}) {
    EXPECT_THAT(thrown_by<std::logic_error>([&] {
                  post(rank(0), {receive_from(rank(0), peer, 0, {2, 2})});
                }),
                HasSubstr("a message to or from rank " + std::to_string(peer) + " cannot be posted by rank 0 of 2"));
  }
}

/// Waits at most 3 s, by a clock that advances by `gap` each time it is read. Returns how often it was read, and
/// whether the message came; rank 1 sends it after the second reading of a longer gap.
std::pair<int, bool> wait_with_gaps_of(std::chrono::milliseconds gap) {
  static std::chrono::milliseconds between;
  static int read;
  static std::function<void()> send;
  between = gap, read = 0;
  TransportSettings settings;
  settings.timeout = std::chrono::seconds(3);
  settings.now = [] {
    if (++read == 3 && send) std::exchange(send, {})();
    return std::chrono::steady_clock::time_point(read * between - std::chrono::hours(1000));  // so that none sleeps
  };
  const auto ranks = make_threads_transports(2, settings);
  if (gap > settings.timeout) send = [&] { post(*ranks[1], {send_to(*ranks[1], 0, 0, content(1, 0, {2, 2}))}); };
  Pending received = post_one(*ranks[0], receive_from(*ranks[0], 1, 0, {2, 2}));
  try {
    received->wait();
    return {read, true};
  } catch (const DeadlineError&) {
    return {read, false};
  }
}

// Stopping the whole process must not use up the limit, so a gap between two polls counts at most one second.
TEST(WaitsClock, AGapCountsAsOneSecond) {
  EXPECT_EQ(wait_with_gaps_of(std::chrono::hours(1)), (std::pair{3, true})) << "two gaps are two seconds";
  EXPECT_EQ(wait_with_gaps_of(std::chrono::seconds(2)), (std::pair{4, false})) << "three seconds are the whole limit";
  EXPECT_EQ(wait_with_gaps_of(std::chrono::milliseconds(900)), (std::pair{5, false})) << "shorter gaps count fully";
}

/// What the heartbeat shows.
TEST_F(TwoRanks, WaitCallbackSeesEachPeerOnce) {
  std::vector<int> shown;
  std::atomic<bool> waits = false;
  rank(0).set_wait_callback([&](int peer) {
    shown.push_back(peer);
    waits = true;
  });
  post(rank(0), {send_to(rank(0), 1, 0, content(0, 0, {2, 2})), send_to(rank(0), 1, 1, content(0, 1, {2, 2}))});
  std::jthread other([&] {
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!waits && std::chrono::steady_clock::now() < patience) std::this_thread::yield();
    for (Pending& each : post(rank(1), {receive_from(rank(1), 0, 0, {2, 2}), receive_from(rank(1), 0, 1, {2, 2})})) {
      each->wait();
    }
  });

  rank(0).wait_for_sends();

  EXPECT_THAT(shown, ::testing::ElementsAre(1, -1));
}

}  // namespace
}  // namespace plumbline
