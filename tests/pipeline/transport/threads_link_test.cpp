// SPDX-License-Identifier: BSD-3-Clause
// The threads link alone, below messages with headers.
#include "pipeline/transport/threads_link.hpp"

#include <gmock/gmock.h>

#include <array>
#include <chrono>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

TEST(ThreadsLink, AllRanksGetTheFirstReason) {
  const auto links = make_threads_links(2);
  links[0]->abort("first", ExitCode::does_not_hold);
  links[1]->abort("second", ExitCode::does_not_hold);

  const std::string reason = "rank 0 ended the run: first";
  std::array<char, 4> bytes{};
  for (const auto& link : links) {
    EXPECT_EQ(error_of<RunError>([&] { link->send(1, Channel::forward, bytes.data(), 4); }), reason);
    EXPECT_EQ(error_of<RunError>([&] { link->receive(1, Channel::forward, bytes.data(), 4); }), reason);
    EXPECT_EQ(error_of<RunError>([&] { link->test(1); }), reason);
    EXPECT_EQ(error_of<RunError>([&] { link->idle(std::chrono::steady_clock::now()); }), reason);
  }
}

TEST(ThreadsLink, TruncatesALongMessageAndReportsItsSize) {
  const auto links = make_threads_links(2);
  const std::array<char, 8> sent = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'};
  std::array<char, 8> got{};
  links[0]->send(1, Channel::forward, sent.data(), 8);
  const auto handle = links[1]->receive(0, Channel::forward, got.data(), 4);

  EXPECT_EQ(links[1]->test(handle), 8U);
  EXPECT_EQ(got, (std::array<char, 8>{'a', 'b', 'c', 'd'}));
  EXPECT_THAT(error_of<std::logic_error>([&] { links[1]->test(handle); }), HasSubstr("after its message had completed"));
}

TEST(ThreadsLink, DestructionWithdrawsPendingMessages) {
  auto links = make_threads_links(2);
  const std::array<char, 4> sent{};
  std::array<char, 4> got{};
  links[0]->send(1, Channel::forward, sent.data(), 4);
  links[0].reset();

  const auto handle = links[1]->receive(0, Channel::forward, got.data(), 4);
  EXPECT_EQ(links[1]->test(handle), std::nullopt) << "its memory may be gone";
}

}  // namespace
}  // namespace plumbline
