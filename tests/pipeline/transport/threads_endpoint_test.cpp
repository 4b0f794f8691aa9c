// SPDX-License-Identifier: BSD-3-Clause
// The threads' endpoints by themselves, below messages with checked headers.
#include <gmock/gmock.h>

#include <array>
#include <chrono>

#include "pipeline/transport/threads_transport.hpp"
#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using Four = std::array<std::byte, 4>;

constexpr Four letters = {std::byte{'a'}, std::byte{'b'}, std::byte{'c'}, std::byte{'d'}};

TEST(ThreadsEndpoint, AllRanksGetTheFirstReason) {
  const auto endpoints = make_threads_endpoints(2);
  Four bytes{};
  const auto request = endpoints[0]->send(1, Channel::forward, letters, {});
  endpoints[0]->abort("first", ExitCode::does_not_hold);
  endpoints[1]->abort("second", ExitCode::does_not_hold);

  const std::string reason = "rank 0 ended the run: first";
  for (const auto& endpoint : endpoints) {
    EXPECT_EQ(error_of<RunError>([&] { endpoint->send(1, Channel::forward, letters, {}); }), reason);
    EXPECT_EQ(error_of<RunError>([&] { endpoint->receive(1, Channel::forward, bytes, [] { return Bytes(); }); }),
              reason);
    EXPECT_EQ(error_of<RunError>([&] { endpoint->idle(std::chrono::steady_clock::now()); }), reason);
  }
  EXPECT_EQ(error_of<RunError>([&] { request->test(); }), reason);
}

TEST(ThreadsEndpoint, DropsABodyOfAnotherSizeAndReportsIt) {
  const auto endpoints = make_threads_endpoints(2);
  Four head{}, body{};
  const auto sent = endpoints[0]->send(1, Channel::forward, letters, letters);
  const auto received = endpoints[1]->receive(0, Channel::forward, head, [&] { return Bytes(body).first(3); });

  EXPECT_TRUE(received->test());
  EXPECT_EQ(received->body_bytes(), 4U);
  EXPECT_EQ(head, letters);
  EXPECT_EQ(body, Four{});
}

TEST(ThreadsEndpoint, RefusesAHeadOfAnotherSize) {
  const auto endpoints = make_threads_endpoints(2);
  Four head{};
  const auto sent = endpoints[0]->send(1, Channel::forward, letters, {});
  const auto received = endpoints[1]->receive(0, Channel::forward, Bytes(head).first(3), [] { return Bytes(); });

  EXPECT_THAT(error_of<RunError>([&] { received->test(); }),
              HasSubstr("rank 0 sent a header of 4 bytes where 3 were expected"));
}

TEST(ThreadsEndpoint, DestructionWithdrawsAMessage) {
  const auto endpoints = make_threads_endpoints(2);
  Four head{};
  endpoints[0]->send(1, Channel::forward, letters, {});

  const auto received = endpoints[1]->receive(0, Channel::forward, head, [] { return Bytes(); });
  EXPECT_FALSE(received->test()) << "its memory may be gone";
}

TEST(ThreadsEndpoint, ReceivesEndInTheirOrder) {
  const auto endpoints = make_threads_endpoints(2);
  Four first{}, second{};
  const auto nothing = [] { return Bytes(); };
  const auto one = endpoints[1]->receive(0, Channel::forward, first, nothing);
  const auto other = endpoints[1]->receive(0, Channel::forward, second, nothing);
  const auto sent = endpoints[0]->send(1, Channel::forward, letters, {});

  EXPECT_FALSE(other->test());
  EXPECT_TRUE(one->test());
  EXPECT_EQ(first, letters);
}

}  // namespace
}  // namespace plumbline
