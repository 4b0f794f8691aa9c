// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/wait_watcher.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "record/progress_page.hpp"
#include "record/rank_folder.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

class Watched : public ::testing::Test {
 protected:
  /// A record's folder with the heartbeat of a rank that waits for `peer`, or for none.
  ProgressPage page(std::int64_t rank, std::int32_t peer) {
    std::filesystem::create_directories(record_.path() / rank_folder(rank));
    ProgressPage made(record_.path() / rank_folder(rank) / "progress");
    made.update({.step = 2, .action_index = 7, .peer = peer, .microbatch = 1, .action = "1RECV_F1"});
    return made;
  }
  std::string said() {
    std::string bytes(10000, '\0');
    std::rewind(file_.get());
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file_.get()));
    return bytes;
  }
  /// What a watcher of rank 1 prints within a while.
  std::string said_in(std::chrono::milliseconds patience, std::chrono::milliseconds time) {
    ProgressLine line(file_.get());
    const WaitWatcher watcher(record_.path(), 1, line, patience);
    for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
      std::this_thread::sleep_for(10ms);
      if (!said().empty()) break;
    }
    return said();
  }

  testing::TemporaryFolder record_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), std::fclose};
};

TEST_F(Watched, ShowsALongWaitWithItsPeer) {
  const ProgressPage first = page(0, -1), second = page(1, 0);

  EXPECT_THAT(said_in(20ms, 30s), HasSubstr("step 3: waiting for rank 0, 0 s in 1RECV_F1; rank 0, last seen in"));
}

TEST_F(Watched, IgnoresWorkAndShortWaits) {
  const ProgressPage working = page(1, -1);
  EXPECT_EQ(said_in(20ms, 300ms), "");

  const ProgressPage waiting = page(1, 0);
  EXPECT_EQ(said_in(1h, 300ms), "");
}

TEST_F(Watched, DoesNotAddUpShortWaits) {
  ProgressPage waiting = page(1, 0);
  std::atomic<bool> end = false;
  std::thread works([&] {
    for (std::int64_t index = 8; !end; ++index) {
      waiting.update({.step = 2, .action_index = index, .peer = 0, .microbatch = 1, .action = "1RECV_F1"});
      std::this_thread::sleep_for(5ms);
    }
  });
  EXPECT_EQ(said_in(2s, 1500ms), "") << "it looks once a second";
  end = true;
  works.join();
}

}  // namespace
}  // namespace plumbline
