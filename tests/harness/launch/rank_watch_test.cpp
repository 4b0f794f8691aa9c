// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/rank_watch.hpp"

#include <gmock/gmock.h>
#include <sys/ptrace.h>
#include <sys/time.h>

#include <fstream>
#include <thread>

#include "record/exit_file.hpp"
#include "record/rank_folder.hpp"
#include "support/json_text.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/launch/child_process.hpp"
#include "tests/record/mesh_json.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using namespace std::chrono_literals;

Json manifest_in_mesh(const Json& replicas, std::int64_t replica) {
  Json manifest = synthetic_candidate({}).manifest;
  manifest["role"] = "external";
  manifest["mesh"] = mesh_json({{"replica", 2}, {"pp", 2}}, replicas, replica);
  return manifest;
}

/// Ranks that are children of the test, with heartbeats in a record.
class WatchedRanks : public ::testing::Test {
 protected:
  std::filesystem::path folder_of(std::int64_t rank) const {
    const auto folder = record_ / rank_folder(rank);
    std::filesystem::create_directories(folder);
    return folder;
  }
  /// A rank that has begun an action and waits for `peer`.
  std::unique_ptr<ChildProcess> start(std::int64_t rank, std::int32_t peer = -1) const {
    const auto page = folder_of(rank) / "progress";
    return std::make_unique<ChildProcess>(
        [&] { ProgressPage(page).update({.step = 2, .peer = peer, .action = std::to_string(rank) + "F0"}); });
  }
  /// The second replica's manifest, and heartbeats of its two ranks, which wait for these peers.
  void leave_replica(const Json& manifest, const std::vector<std::int32_t>& peers, const std::string& action) const {
    folder_.file("record/replica-1/manifest.json", json_text(manifest));
    for (std::size_t rank = 0; rank < peers.size(); ++rank) {
      const auto folder = record_ / "replica-1" / rank_folder(static_cast<std::int64_t>(rank));
      std::filesystem::create_directories(folder);
      ProgressPage(folder / "progress").update({.step = 4, .peer = peers[rank], .action = action});
    }
  }
  void end_with(std::int64_t rank, const std::string& status) const {
    write_exit_file(folder_of(rank) / "exit.json", {rank, status, 0, {}, "", {}});
  }

  TemporaryFolder folder_;
  std::filesystem::path record_ = folder_ / "record";
  ProcessTree tree_;
};

TEST_F(WatchedRanks, AreSeenOnceTheyHaveAHeartbeat) {
  RankWatch watch(record_, 2, tree_);
  watch.glance();
  EXPECT_FALSE(watch.any_seen());
  EXPECT_FALSE(watch.sights()[0].still) << "no rank exists yet";

  const auto first = start(0, 1);
  watch.glance();
  EXPECT_TRUE(watch.any_seen());
  EXPECT_FALSE(watch.all_seen());
  const auto second = start(1);
  watch.glance();

  EXPECT_TRUE(watch.all_seen());
  EXPECT_TRUE(watch.is_rank(first->pid()) && watch.is_rank(second->pid()));
  EXPECT_FALSE(watch.is_rank(::getpid()));
  const auto sights = watch.sights();
  EXPECT_EQ(sights[0].action, "0F0");
  EXPECT_EQ(sights[0].step, 2);
  EXPECT_EQ(sights[0].peer, 1);
  EXPECT_EQ(sights[1].peer, -1);
  for (const RankSight& sight : sights) EXPECT_TRUE(sight.seen && sight.found && !sight.gone && !sight.stopped);
  EXPECT_FALSE(watch.trouble());
}

// Its first poll was too recent to call it a hang.
TEST_F(WatchedRanks, ARankDoesNotHangAtItsFirstPoll) {
  const auto rank = start(0, 1);
  RankWatch watch(record_, 1, tree_);

  watch.glance();

  ASSERT_TRUE(watch.all_seen());
  EXPECT_FALSE(watch.sights()[0].still);
}

TEST_F(WatchedRanks, ASilentlyLostOrFailedRankIsTrouble) {
  for (const std::string status : {"", "error", "timeout", "ok", "stopped"}) {
    std::filesystem::remove_all(record_);
    const auto rank = start(0);
    RankWatch watch(record_, 1, tree_);
    watch.glance();
    if (!status.empty()) end_with(0, status);
    rank->die();

    watch.glance();

    EXPECT_EQ(watch.trouble(), status != "ok" && status != "stopped") << status;
    EXPECT_TRUE(watch.sights()[0].gone);
  }
}

TEST_F(WatchedRanks, LostRanksAreOrderedByThePollThatMissedThem) {
  const auto first = start(0), second = start(1), third = start(2), fourth = start(3);
  RankWatch watch(record_, 4, tree_);
  watch.glance();
  second->die();
  watch.glance();
  watch.glance();
  first->die();
  fourth->die();
  watch.glance();

  const auto sights = watch.sights();
  EXPECT_EQ(sights[1].gone_order, 1);
  EXPECT_EQ(sights[0].gone_order, 2);
  EXPECT_EQ(sights[3].gone_order, 2);
  EXPECT_FALSE(sights[2].gone);
}

TEST_F(WatchedRanks, AStoppedRanksHeartbeatAtThatMomentCounts) {
  const auto rank = start(0);
  RankWatch watch(record_, 1, tree_);
  watch.glance();
  rank->stop();
  watch.glance();
  ProgressPage(folder_of(0) / "progress").update({.step = 7, .action = "0B7"});  // what it does when it continues
  watch.glance();

  const auto sight = watch.sights()[0];

  EXPECT_TRUE(sight.stopped);
  EXPECT_FALSE(sight.traced);
  EXPECT_EQ(sight.step, 2);
  EXPECT_EQ(sight.action, "0F0");
}

TEST_F(WatchedRanks, ATracerIsDistinguishedFromASignal) {
  const auto page = folder_of(0) / "progress";
  const ChildProcess rank([&] {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ProgressPage(page).update({.step = 2, .action = "0F0"});
  });
  RankWatch watch(record_, 1, tree_);
  rank.stop();

  watch.glance();

  EXPECT_TRUE(watch.sights()[0].stopped);
  EXPECT_TRUE(watch.sights()[0].traced);
  EXPECT_EQ(watch.sights()[0].action, "0F0");
}

TEST_F(WatchedRanks, AHeartbeatRevealsARankThatDiedUnseen) {
  const auto dead = start(1);
  dead->die();
  ::waitpid(dead->pid(), nullptr, 0);
  RankWatch alone(record_, 2, tree_);
  alone.glance();
  EXPECT_FALSE(alone.sights()[1].gone) << "its process number may be another machine's";

  const auto living = start(0);
  RankWatch watch(record_, 2, tree_);
  watch.glance();
  EXPECT_TRUE(watch.sights()[1].gone);
  EXPECT_TRUE(watch.trouble());
}

// A heartbeat with another host's name, or without a process number, is of a process that cannot be checked here.
TEST_F(WatchedRanks, ARankThatCannotBeCheckedIsNotCalledDead) {
  { const auto elsewhere = start(1); }
  const std::string page = bytes_of(folder_of(1) / "progress");
  ASSERT_NE(page.find(host_name()), std::string::npos);
  std::string of_another_machine = page, of_no_process = page;
  of_another_machine[page.find(host_name())] ^= 1;
  of_no_process.replace(56, 4, 4, '\0');
  const auto here = start(0);

  for (const std::string& other : {of_another_machine, of_no_process}) {
    folder_.file("record/rank-1/progress", other);
    RankWatch watch(record_, 2, tree_);
    watch.glance();
    watch.glance();

    EXPECT_TRUE(watch.sights()[0].found);
    EXPECT_FALSE(watch.sights()[1].found);
    EXPECT_FALSE(watch.trouble());
  }
}

TEST_F(WatchedRanks, AHeartbeatOfAForeignProcessIsIgnored) {
  { ProgressPage(folder_of(0) / "progress").update({.step = 1}); }
  RankWatch watch(record_, 1, tree_);
  watch.glance();
  EXPECT_FALSE(watch.sights()[0].found) << "the process is the test itself";
  EXPECT_TRUE(watch.any_seen()) << "its folder exists";
}

TEST_F(WatchedRanks, AHeartbeatOfAForeignProcessIsIgnoredEvenIfOtherRanksWereSeen) {
  const auto rank = start(0);
  folder_of(1);
  { ProgressPage(folder_of(1) / "progress").update({.step = 1}); }
  RankWatch watch(record_, 2, tree_);

  watch.glance();
  watch.glance();

  EXPECT_FALSE(watch.sights()[1].found) << "the process is the test itself";
  EXPECT_FALSE(watch.is_rank(::getpid()));
}

TEST_F(WatchedRanks, KeepTheirNumbersWhenTheirRecordIsRemoved) {
  const auto rank = start(0, 1);
  RankWatch watch(record_, 1, tree_);
  watch.glance();
  std::filesystem::remove_all(record_);

  EXPECT_TRUE(watch.any_seen());
  EXPECT_TRUE(watch.sights()[0].found);
  EXPECT_FALSE(watch.sights()[0].seen) << "the heartbeat is removed";
}

// One second by design, since shorter pauses also happen on a busy machine.
TEST_F(WatchedRanks, ARankThatStopsPollingHangs) {
  const auto hangs = start(0, 2), leaves = start(1);
  const auto page = folder_of(2) / "progress";
  const ChildProcess looks([&] {
    ProgressPage(page).update({.step = 2, .peer = 0, .action = "2RECV_B0"});
    ::signal(SIGALRM, [](int) {});
    const itimerval often{{0, 5000}, {0, 5000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  });
  RankWatch watch(record_, 3, tree_);
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [&] { return std::chrono::steady_clock::now() - begin; };
  watch.glance();
  leaves->die();

  while (!watch.sights()[0].still && passed() < 10s) {
    std::this_thread::sleep_for(10ms);
    watch.glance();
  }

  EXPECT_TRUE(watch.sights()[0].still);
  EXPECT_GE(passed(), 1s);
  EXPECT_FALSE(watch.sights()[1].still) << "it exited at once, so the time since then does not count";
  EXPECT_FALSE(watch.sights()[2].still);
  hangs->die();
  watch.glance();
  EXPECT_TRUE(watch.sights()[0].gone && watch.sights()[0].still) << "it was silent until it was ended";
}

TEST_F(WatchedRanks, AnErrorIsQuotedFromTheExitFile) {
  folder_.file("record/rank-0/exit.json",
               R"({"rank": 0, "status": "error", "code": 3, "where": "train.py:12: KeyError"})");
  folder_.file("record/rank-1/exit.json", R"({"rank": 1, "sta)");  // died while it wrote
  const RankWatch watch(record_, 2, tree_);

  const auto sights = watch.sights();

  EXPECT_EQ(sights[0].exit.value().code, 3);
  EXPECT_EQ(sights[0].where, "train.py:12: KeyError");
  EXPECT_FALSE(sights[1].exit);
}

/// Makes the heartbeat look as if a rank on another host wrote it.
void move_to_host(const std::filesystem::path& page, const std::string& host) {
  std::fstream file(page, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(128);
  file.write((host + '\0').c_str(), std::ssize(host) + 1);
}

// Its process id is another process's here, and its heartbeat may be old. What it reported to waiting ranks counts.
TEST_F(WatchedRanks, UsesOnlyReceivedReportsOfARankOnAnotherHost) {
  const auto here = start(0, 1), namesake = start(1, 0);
  move_to_host(folder_of(1) / "progress", "far");
  RankWatch watch(record_, 3, tree_);
  watch.glance();

  EXPECT_FALSE(watch.sights()[1].found);
  EXPECT_EQ(watch.sights()[1].host, "far");
  EXPECT_EQ(watch.sights()[1].peer, -1);
  EXPECT_TRUE(watch.sights()[2].elsewhere) << "it has started, but its heartbeat is not visible here";

  ExitFile exit{0, "timeout", 1, {}, "0RECV_B0"};
  exit.waited_for = {1, 2};
  write_exit_file(folder_of(0) / "exit.json", exit);

  EXPECT_EQ(watch.sights()[1].peer, 2);
  EXPECT_THAT(diagnose(watch.sights(), std::nullopt).words,
              "a wait timed out: rank 2 made no progress; it was last seen on another host, whose heartbeats are not "
              "visible here; ranks 0 and 1 waited for it");
}

TEST_F(WatchedRanks, RanksOfSeveralPipelinesHaveTheRunsNumbers) {
  leave_replica(manifest_in_mesh({{0, 2}, {1, 3}}, 1), {1, 0}, "0RECV_B0");
  RankWatch watch(record_, 1, tree_);

  watch.glance();

  const auto sights = watch.sights();
  ASSERT_EQ(sights.size(), 4U) << "one for each rank of each pipeline, although one was requested";
  EXPECT_EQ(sights[1].step, 4);
  EXPECT_EQ(sights[1].peer, 3) << "rank 1 in its own pipeline";
  EXPECT_EQ(sights[3].peer, 1) << "rank 0 in its own pipeline";
  EXPECT_EQ(sights[3].replica, "replica 1, rank 1");
}

TEST_F(WatchedRanks, RanksOfOurReplicasHaveTheRunsNumbersAndTheirReplica) {
  Json manifest = synthetic_candidate({}).manifest;
  manifest["mesh"] = mesh_json({{"replica", 2}, {"pp", 2}}, {{0, 1}, {2, 3}}, 1);
  leave_replica(manifest, {3, -1}, "1STEP");
  RankWatch watch(record_, 4, tree_);

  watch.glance();

  const auto sights = watch.sights();
  EXPECT_EQ(sights[2].peer, 3) << "numbered within the run";
  EXPECT_THAT(
      diagnose(sights, "60 s").words,
      "the time limit of 60 s passed: rank 3 (replica 1, rank 1, stage 1) made no progress; it was last seen in "
      "1STEP of step 4; rank 2 waited for it");
}

/// The manifest of one of two pipelines with two ranks each.
std::string manifest_of_replica(std::int64_t replica) {
  return json_text(manifest_in_mesh({{0, 2}, {3, 1}}, replica));
}

TEST(PlacesInMesh, EachRankOfTheRunHasItsFolderAndItsPipeline) {
  const TemporaryFolder folder;
  folder.file("other/manifest.json", "{}");
  folder.file("replica-0/manifest.json", "{\"schema\": ");  // being written
  folder.file("replica-1/manifest.json", manifest_of_replica(1));
  folder.file("replica-2/manifest.json", "");

  const auto places = places_in_mesh(folder.path());

  ASSERT_EQ(places.size(), 4U);
  EXPECT_EQ(places[0].folder, folder / "replica-0/rank-0");
  EXPECT_EQ(places[1].folder, folder / "replica-1/rank-1");
  EXPECT_EQ(places[2].folder, folder / "replica-0/rank-1");
  EXPECT_EQ(places[3].folder, folder / "replica-1/rank-0");
  EXPECT_THAT(places[2].pipeline, ElementsAre(0, 2));
  EXPECT_THAT(places[3].pipeline, ElementsAre(3, 1));
}

// A folder's entries have no order, so the incomplete manifest comes first in one of the two rounds.
TEST(PlacesInMesh, AnIncompleteManifestDoesNotHideTheOthers) {
  for (const std::int64_t written : {0, 1}) {
    const TemporaryFolder folder;
    folder.file("replica-0/manifest.json", written == 0 ? manifest_of_replica(0) : "{\"schema\": ");
    folder.file("replica-1/manifest.json", written == 1 ? manifest_of_replica(1) : "{\"schema\": ");

    EXPECT_EQ(places_in_mesh(folder.path()).size(), 4U) << written;
  }
}

TEST(PlacesInMesh, AreUnknownUntilAManifestHasTheMesh) {
  const TemporaryFolder folder;
  EXPECT_THAT(places_in_mesh(folder / "not there yet"), IsEmpty());
  folder.file("replica-0/manifest.json", "{\"schema\": ");
  EXPECT_THAT(places_in_mesh(folder.path()), IsEmpty());
  folder.file("of-another-name/manifest.json", manifest_of_replica(0));
  EXPECT_THAT(places_in_mesh(folder.path()), IsEmpty());
}

}  // namespace
}  // namespace plumbline::testing
