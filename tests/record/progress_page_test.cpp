// SPDX-License-Identifier: BSD-3-Clause
#include "record/progress_page.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <thread>

#include "record/rank_folder.hpp"
#include "record/wait_chain.hpp"
#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::bytes_of;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

TEST(ProgressPage, ShowsTheLastUpdate) {
  const TemporaryFolder folder;
  ProgressPage page(folder / "progress");

  page.update({.step = 0, .action_index = 1, .action = "1F0"});
  page.update({.step = 3, .action_index = 17, .peer = 2, .microbatch = 5, .bytes = 16384, .action = "1RECV_F5"});
  const auto seen = read_progress(folder / "progress");

  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->step, 3);
  EXPECT_EQ(seen->action_index, 17);
  EXPECT_EQ(seen->peer, 2);
  EXPECT_EQ(seen->microbatch, 5);
  EXPECT_EQ(seen->bytes, 16384u);
  EXPECT_EQ(seen->action, "1RECV_F5");
  EXPECT_EQ(seen->pid, ::getpid());
  EXPECT_EQ(seen->host, host_name());
  EXPECT_NE(seen->host, "");
  EXPECT_EQ(seen->updates, 3u) << "two, and the initial one before the rank starts";
}

TEST(ProgressPage, StartsAsARankThatHasNotBegun) {
  const TemporaryFolder folder;
  const ProgressPage page(folder / "progress");

  const auto seen = read_progress(folder / "progress");

  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->step, -1);
  EXPECT_EQ(seen->action, "");
  EXPECT_EQ(seen->pid, ::getpid());
}

TEST(ProgressPage, HasTheTimeOfTheUpdate) {
  const TemporaryFolder folder;
  ProgressPage page(folder / "progress");
  const auto now = [] {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  };

  const std::uint64_t before = now();
  page.update({.step = 0});
  const std::uint64_t after = now();

  const auto seen = read_progress(folder / "progress");
  EXPECT_GE(seen->monotonic_ns, before);
  EXPECT_LE(seen->monotonic_ns, after);
}

/// The documented layout, read byte by byte, since other programs write and read it too.
TEST(ProgressPage, HasThePublishedLayout) {
  const TemporaryFolder folder;
  ProgressPage page(folder / "progress");
  page.update({.step = 3, .action_index = 17, .peer = 2, .microbatch = 5, .bytes = 16384, .action = "1B3"});

  const std::string bytes = bytes_of(folder / "progress");
  const auto at = [&]<typename Value>(std::size_t offset, Value value) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  };

  ASSERT_EQ(bytes.size(), 4096u);
  EXPECT_EQ(bytes.substr(0, 8), "PLMBPRG1");
  EXPECT_EQ(at(8, std::uint64_t{}), 4u);
  EXPECT_EQ(at(16, std::int64_t{}), 3);
  EXPECT_EQ(at(24, std::int64_t{}), 17);
  EXPECT_EQ(at(32, std::int32_t{}), 2);
  EXPECT_EQ(at(36, std::int32_t{}), 5);
  EXPECT_EQ(at(40, std::uint64_t{}), 16384u);
  EXPECT_EQ(at(48, std::uint64_t{}), read_progress(folder / "progress")->monotonic_ns);
  EXPECT_EQ(at(56, std::int32_t{}), ::getpid());
  EXPECT_EQ(bytes.substr(60, 64), "1B3" + std::string(61, '\0'));
}

TEST(ProgressPage, CutsOffALongAction) {
  const TemporaryFolder folder;
  ProgressPage page(folder / "progress");
  const std::string action(100, 'x');

  page.update({.action = action});

  EXPECT_EQ(read_progress(folder / "progress")->action, std::string(63, 'x'));
}

TEST(ProgressPage, OutlivesAKilledWriter) {
  const TemporaryFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);

  const pid_t child = ::fork();
  if (child == 0) {
    ProgressPage page(folder / "progress");
    page.update({.step = 4, .peer = 1, .microbatch = 3, .action = "1B3"});
    [[maybe_unused]] const auto written = ::write(ready[1], "x", 1);
    while (true) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  const auto seen = read_progress(folder / "progress");

  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->step, 4);
  EXPECT_EQ(seen->action, "1B3");
  EXPECT_EQ(seen->pid, child);
}

TEST(ProgressPage, AReaderNeverSeesHalfAnUpdate) {
  const TemporaryFolder folder;
  ProgressPage page(folder / "progress");
  std::jthread writer([&](std::stop_token stop) {
    for (std::int64_t i = 0; !stop.stop_requested(); ++i) {
      const std::string action = std::to_string(i);
      page.update({.step = i, .action_index = i, .bytes = static_cast<std::uint64_t>(i), .action = action});
    }
  });

  std::uint64_t last = 0;
  int consistent = 0;
  for (int look = 0; look < 5000; ++look) {
    const auto seen = read_progress(folder / "progress");
    if (!seen || seen->step < 0) continue;
    ++consistent;
    ASSERT_EQ(seen->action_index, seen->step);
    ASSERT_EQ(seen->bytes, static_cast<std::uint64_t>(seen->step));
    ASSERT_EQ(seen->action, std::to_string(seen->step));
    ASSERT_GE(seen->updates, last);
    last = seen->updates;
  }

  EXPECT_GT(consistent, 2500) << "a reader succeeds even while the page is written all the time";
}

TEST(ProgressPage, AnUnfinishedUpdateIsNotASnapshot) {
  const TemporaryFolder folder;
  { ProgressPage(folder / "progress").update({.step = 1}); }
  std::fstream file(folder / "progress", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(8);
  file.put(5);  // odd: a write is in progress
  file.close();

  EXPECT_FALSE(read_progress(folder / "progress"));
}

TEST(ProgressPage, AnotherFileIsNotASnapshot) {
  const TemporaryFolder folder;
  EXPECT_FALSE(read_progress(folder / "absent"));
  EXPECT_FALSE(read_progress(folder.path()));
  EXPECT_FALSE(read_progress(folder.file("short", "PLMBPRG1")));
  EXPECT_FALSE(read_progress(folder.file("zeros", std::string(4096, '\0'))));

  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  ::alarm(20);  // a launcher must not wait for a writer that never comes
  EXPECT_FALSE(read_progress(folder / "pipe"));
  ::alarm(0);
}

TEST(ProgressPage, AFileThatCannotBeCreatedIsASystemError) {
  const TemporaryFolder folder;

  EXPECT_THAT(error_of<SystemError>([&] { ProgressPage(folder / "absent/progress"); }),
              HasSubstr("absent/progress: the heartbeat cannot be created: No such file"));
}

/// A record's folder with the heartbeats of waiting ranks: rank -> awaited rank, or -1 for none.
class WaitChain : public ::testing::Test {
 protected:
  void pages(const std::map<std::int64_t, std::int32_t>& peers) {
    for (const auto& [rank, peer] : peers) {
      const auto folder = folder_.path() / rank_folder(rank);
      std::filesystem::create_directories(folder);
      ProgressPage(folder / "progress").update({.step = 2, .peer = peer, .action = "0F3"});
    }
  }
  std::string sign(const std::vector<std::int64_t>& chain) const { return last_sign(folder_.path(), chain); }

  testing::TemporaryFolder folder_;
};

TEST_F(WaitChain, FollowsTheAwaitedRanksToTheEndOrACycle) {
  const std::map<std::int64_t, std::int64_t> peers = {{3, 2}, {2, 1}, {1, 0}, {0, -1}, {5, 6}, {6, 5}};
  const auto peer_of = [&](std::int64_t rank) { return peers.at(rank); };
  EXPECT_THAT(wait_chain(3, peer_of), ::testing::ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(wait_chain(5, peer_of), ::testing::ElementsAre(5, 6));
}

TEST_F(WaitChain, DescribesTheLastRankOfTheChain) {
  pages({{1, 0}, {0, -1}});
  EXPECT_EQ(sign({2, 1, 0}), ", last seen in 0F3 of step 2");
  EXPECT_EQ(sign({1, 0, 1}), "") << "the ranks wait for each other";
  EXPECT_EQ(sign({7}), ", which has no heartbeat on this machine");
  EXPECT_EQ(sign({}), "");
  EXPECT_EQ(last_sign(std::filesystem::path(), {1}), "") << "a run without a record";
}

TEST_F(WaitChain, NamesAStoppedRank) {
  pages({{0, 1}});
  const pid_t child = ::fork();
  if (child == 0) {
    pages({{1, 0}});
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, WUNTRACED);

  EXPECT_EQ(sign({1}), ", which is stopped (SIGSTOP) in 0F3 of step 2");

  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
}

TEST_F(WaitChain, WarnsThatAHeartbeatOfAnotherHostMayBeOld) {
  pages({{2, 1}, {1, 0}, {0, -1}});
  std::fstream file(folder_.path() / rank_folder(1) / "progress", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(128);
  file.write("far", 4);
  file.close();
  EXPECT_EQ(sign({1}), ", last seen in 0F3 of step 2 (on far, whose heartbeat may be old)");
}

TEST_F(WaitChain, NamesARankThatHasNotBegun) {
  pages({{1, 0}});
  const auto folder = folder_.path() / rank_folder(0);
  std::filesystem::create_directories(folder);
  ProgressPage page(folder / "progress");
  EXPECT_EQ(sign({0}), ", which has not begun its first action");
  ProgressNow now;
  now.step = 1;
  page.update(now);
  EXPECT_EQ(sign({0}), ", which has not begun its first action of step 1");
}

}  // namespace
}  // namespace plumbline
