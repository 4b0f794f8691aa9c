// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "support/files.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Writes both records, lets `spoil` loose on the candidate's folder, judges.
CellVerdict judge_spoilt(SyntheticCell& cell, const std::function<void(const std::filesystem::path&)>& spoil) {
  const auto reference = cell.write_reference(), candidate = cell.write_candidate();
  spoil(candidate);
  return judge_cell(cell.plan, reference, candidate);
}

void expect_only_completion_red(const CellVerdict& verdict) {
  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(with_outcome(verdict, Outcome::differs), ElementsAre("completion"));
  EXPECT_EQ(with_outcome(verdict, Outcome::holds).size(), 0U) << "nothing can be shown from half a run";
}

TEST(Completion, AnUnreadableRecordIsNamedWithFileAndRankAndStopsOtherChecks) {
  namespace fs = std::filesystem;
  struct Case {
    void (*spoil)(const fs::path& record);
    const char* words;
    std::optional<std::int64_t> rank;
    const char* item = "";
  };
  for (const auto& [spoil, words, rank, item] :
       {Case{[](const fs::path& record) {
               const auto path = record / "rank-1" / "tensors.csv";
               const std::string bytes = bytes_of(path);
               write_file(path, bytes.substr(0, bytes.size() - 30));
             },
             "rank-1/tensors.csv", 1, "rank-1/tensors.csv"},
        Case{[](const fs::path& record) {  // a step that the run lacks
               const auto path = record / "rank-1" / "memory.csv";
               const std::string bytes = bytes_of(path);
               const auto last_row = bytes.rfind('\n', bytes.size() - 2) + 1;
               write_file(path, bytes + "7" + bytes.substr(bytes.find(',', last_row)));
             },
             "rank-1/memory.csv:4: column 'step': '7' is not a step of this run, which by manifest.json has 0 to 1", 1,
             "rank-1/memory.csv"},
        Case{[](const fs::path& record) { fs::remove_all(record / "rank-1"); }, "rank 1", 1},
        Case{[](const fs::path& record) { fs::remove(record / "manifest.json"); }, "manifest.json", std::nullopt}}) {
    SCOPED_TRACE(words);
    SyntheticCell cell;
    const auto verdict = judge_spoilt(cell, spoil);
    expect_only_completion_red(verdict);
    EXPECT_THAT(result_of(verdict, "completion").reason, HasSubstr(words));
    EXPECT_EQ(verdict.first_divergence->rank, rank);
    EXPECT_THAT(verdict.first_divergence->item, HasSubstr(item));
  }
}

TEST(Completion, AMissingRowIsReportedWithRecordRankAndStep) {
  for (const bool of_candidate : {false, true}) {
    SyntheticCell cell;
    auto& rank = (of_candidate ? cell.candidate : cell.reference).ranks[0];
    std::erase_if(rank.microbatches, [](const auto& row) { return row.step == 1 && row.microbatch == 3; });

    const auto verdict = cell.judge();

    expect_only_completion_red(verdict);
    const std::string whose = of_candidate ? "candidate" : "reference";
    EXPECT_THAT(result_of(verdict, "completion").reason,
                HasSubstr(whose + "/rank-0/microbatches.csv: step 1 has no row of microbatch 3"));
    EXPECT_THAT(result_of(verdict, "completion").reason, HasSubstr(whose + ": "));
    expect_finding(*verdict.first_divergence, {.step = 1, .rank = 0, .item = "rank-0/microbatches.csv"});
  }
}

TEST(Completion, AKilledRankFailsWithTheLaunchersWords) {
  SyntheticCell cell;
  cell.candidate.ranks[1].exit.reset();
  cell.candidate.ranks[1].steps.pop_back();
  cell.plan.launch = LaunchFinding{
      .exit_code = 137, .culprit_rank = 1, .words = "rank 1 was killed by signal 9 while in 1B3; rank 0 waited for it"};

  const auto verdict = cell.judge();

  expect_only_completion_red(verdict);
  EXPECT_THAT(result_of(verdict, "completion").reason, HasSubstr("rank 1 was killed by signal 9 while in 1B3"));
  EXPECT_EQ(verdict.first_divergence->item, "rank 1");
  EXPECT_EQ(verdict.first_divergence->step, 1) << "step 0 was whole";
}

TEST(Completion, FailedRanksAreReportedTheReferencesFirst) {
  SyntheticCell killed, broken, both;
  for (auto* cell : {&killed, &both}) cell->candidate.ranks[0].exit.reset();
  both.reference.ranks[0].exit.reset();
  broken.reference.ranks[0].exit = ExitFile{0, "error", 1, std::nullopt, ""};
  for (const auto& [cell, words] : {std::pair{&killed, "candidate: rank 0 left no exit.json"},
                                    {&broken, "reference: rank 0 ended with status error"},
                                    {&both, "reference: rank 0 left no exit.json"}}) {
    const auto verdict = cell->judge();
    expect_only_completion_red(verdict);
    EXPECT_THAT(verdict.first_divergence->words, ::testing::StartsWith(words));
  }
}

TEST(Completion, MissingStepOfARankThatSaysOkFails) {
  SyntheticCell cell;
  cell.candidate.ranks[0].steps.pop_back();
  expect_fails(cell, "completion", {.words = "steps.csv"});
}

TEST(Completion, TheLinesOfExceptionsOnAllRanksAreQuoted) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["role"] = "external";
  const auto candidate = cell.folder / "other";
  write_run(cell.candidate, candidate);
  for (const auto& [rank, where] : {std::pair{"rank-0", "train.py:9: RuntimeError: connection closed"},
                                    {"rank-1", "train.py:12: ValueError: mine"}}) {
    Json ended = read_json(candidate / rank / "exit.json");
    ended.update({{"status", "error"}, {"code", 1}, {"where", where}});
    write_json(candidate / rank / "exit.json", ended);
  }

  EXPECT_THAT(result_of(judge_cell({}, cell.write_reference(), candidate), "completion").reason,
              HasSubstr("rank 0 ended with status error, code 1, while in 0STEP: train.py:9: RuntimeError: connection "
                        "closed; rank 1: train.py:12: ValueError: mine"));
  std::filesystem::remove(candidate / "rank-0/exit.json");
  EXPECT_THAT(result_of(judge_cell({}, cell.folder / "reference", candidate), "completion").reason,
              HasSubstr("world_size 2); rank 1: train.py:12: ValueError: mine"));
}

TEST(Completion, HoldsAndCountsRanksAndStepsOfBothRuns) {
  SyntheticCell cell;

  const auto completion = expect_outcome(cell, "completion", Outcome::holds);
  EXPECT_EQ(completion.reason, "3 ranks of both runs ended well with all their steps");
  EXPECT_EQ(completion.inspected, (Counts{{"ranks", 3}, {"steps", 3 * synthetic_steps}}));
}

struct LastAction {
  std::int64_t rank;
  const char *action, *item;
};

void PrintTo(const LastAction& last, std::ostream* out) {
  *out << last.action;
}

class EndsInAnAction : public ::testing::TestWithParam<LastAction> {};

TEST_P(EndsInAnAction, NamesTheEdgeInTheDirectionOfItsMessage) {
  const auto& [rank, action, item] = GetParam();
  SyntheticCell cell;
  cell.candidate.ranks[static_cast<std::size_t>(rank)].exit = ExitFile{rank, "error", 1, std::nullopt, action};

  const auto verdict = cell.judge();

  expect_only_completion_red(verdict);
  expect_finding(*verdict.first_divergence, {.rank = rank, .item = item, .expected = "ok", .got = "error"});
}

INSTANTIATE_TEST_SUITE_P(Completion, EndsInAnAction,
                         ::testing::Values(LastAction{0, "0SEND_F2", "rank 0 -> rank 1"},
                                           LastAction{1, "1RECV_F2", "rank 0 -> rank 1"},
                                           LastAction{1, "1SEND_B2", "rank 1 -> rank 0"},
                                           LastAction{0, "0RECV_B2", "rank 1 -> rank 0"},
                                           LastAction{0, "0RECV_F2", "rank 0"},  // from nobody
                                           LastAction{1, "1SEND_F2", "rank 1"}, LastAction{1, "1F2", "rank 1"},
                                           LastAction{1, "out of memory", "rank 1"}));

TEST(Completion, StatusAndCodeMustBothBeGood) {
  for (const auto& [status, code] : {std::pair{"ok", 3}, {"error", 0}}) {
    SyntheticCell cell;
    cell.candidate.ranks[1].exit->status = status;
    cell.candidate.ranks[1].exit->code = code;

    const auto verdict = cell.judge();

    expect_only_completion_red(verdict);
    EXPECT_THAT(result_of(verdict, "completion").reason,
                HasSubstr("candidate: rank 1 ended with status " + std::string(status) + ", code " +
                          std::to_string(code) + ", while in 1STEP"));
  }
}

TEST(Completion, AGoodRankEndedAfterItsLastAction) {
  SyntheticCell cell;
  cell.candidate.ranks[1].exit->last_action = "1B4";

  const auto verdict = cell.judge();

  expect_only_completion_red(verdict);
  expect_finding(*verdict.first_divergence, {.rank = 1, .item = "last_action", .expected = "1STEP", .got = "1B4"});
  EXPECT_EQ(verdict.first_divergence->step, synthetic_steps - 1) << "the last: the run has no step behind it";

  SyntheticCell silent;
  silent.candidate.ranks[1].exit->last_action.clear();
  EXPECT_TRUE(silent.judge().holds);
}

TEST(Completion, AFailedLaunchFailsEvenWithCompleteRecords) {
  LaunchFinding not_started, code, timed_out;
  not_started.started = false;
  code.exit_code = 7;
  code.words = "rank 0 returned 7";
  timed_out.timed_out = true;
  for (const bool of_candidate : {true, false}) {
    for (const auto& [launch, got, words] :
         {std::tuple{not_started, "exit code 0", "the program crashed or timed out"},
          {code, "exit code 7", "rank 0 returned 7"},
          {timed_out, "stopped by its time limit", "the program crashed or timed out"}}) {
      SyntheticCell cell;
      (of_candidate ? cell.plan.launch : cell.plan.reference_launch) = launch;

      const auto verdict = cell.judge();

      expect_only_completion_red(verdict);
      EXPECT_EQ(verdict.first_divergence->item, "run");
      EXPECT_EQ(verdict.first_divergence->rank, std::nullopt);
      expect_finding(*verdict.first_divergence, {.expected = "exit code 0", .got = got});
      EXPECT_EQ(verdict.first_divergence->words, std::string(of_candidate ? "candidate: " : "reference: ") + words);
    }
  }
}

TEST(Completion, TheRankThatALauncherBlamesIsNamedWithItsStep) {
  for (const std::int64_t rank : {0, 1}) {
    SyntheticCell cell;
    RankRecord& ended = cell.candidate.ranks[static_cast<std::size_t>(rank)];
    ended.steps.pop_back();
    ended.exit = ExitFile{rank, "error", 1, std::nullopt, rank == 0 ? "0RECV_B3" : "1RECV_F3"};
    cell.plan.launch = LaunchFinding{.exit_code = 1, .culprit_rank = rank, .words = "a rank returned 1"};

    const auto found = cell.judge().first_divergence.value();

    EXPECT_EQ(found.words, "candidate: a rank returned 1") << "the launcher's words come first";
    expect_finding(found, {.step = 1, .rank = rank, .item = rank == 0 ? "rank 1 -> rank 0" : "rank 0 -> rank 1"});
  }
}

TEST(Completion, ASilentLauncherIsNotQuoted) {
  SyntheticCell cell;
  cell.candidate.ranks[1].exit.reset();
  cell.plan.launch = LaunchFinding{};

  EXPECT_EQ(cell.judge().first_divergence->item, "rank 1");
}

TEST(Completion, ABlamedRankOutsideTheRecordIsNamed) {
  for (const bool readable : {true, false}) {
    SyntheticCell cell;
    cell.plan.launch = LaunchFinding{.exit_code = 1, .culprit_rank = 2, .words = ""};
    const auto verdict = judge_spoilt(cell, [&](const auto& record) {
      if (!readable) std::filesystem::remove(record / "manifest.json");
    });
    expect_only_completion_red(verdict);
    expect_finding(*verdict.first_divergence,
                   {.step = 0, .rank = 2, .item = "rank 2", .words = "candidate: the program crashed or timed out"});
  }
}

TEST(Completion, ALauncherThatSawRanksOutliveTheRunIsBelievedUntilAllExitFilesExist) {
  for (const bool all : {true, false}) {
    SyntheticCell cell;
    if (!all) cell.candidate.ranks[1].exit.reset();
    cell.plan.launch = LaunchFinding{};
    cell.plan.launch->words = "rank 1 was still there";

    const auto verdict = cell.judge();

    EXPECT_EQ(verdict.holds, all);
    if (all) continue;
    expect_only_completion_red(verdict);
    EXPECT_EQ(verdict.first_divergence->item, "run");
    EXPECT_EQ(verdict.first_divergence->rank, std::nullopt);
    EXPECT_EQ(verdict.first_divergence->words, "candidate: rank 1 was still there");
  }
}

TEST(Completion, AResumedRunIsCountedFromItsFirstStep) {
  SyntheticCell cell;
  for (auto* run : {&cell.reference, &cell.candidate}) {
    run->manifest["steps"] = 3;
    begin_with_second_step(*run);
  }
  for (auto& rank : cell.reference.ranks) rank.exit.reset();

  EXPECT_EQ(cell.judge().first_divergence->step, 2) << "step 1 is whole";
}

TEST(Completion, AStoppedSweepQuotesItsLaunch) {
  for (const bool of_candidate : {true, false}) {
    SyntheticCell cell;
    cell.candidate.ranks[0].exit.reset();
    auto& launch = of_candidate ? cell.plan.launch : cell.plan.reference_launch;
    launch = LaunchFinding{};
    launch->interrupted = true;
    launch->words = "stopped by SIGINT";

    const auto completion = expect_outcome(cell, "completion", Outcome::incomplete);
    EXPECT_EQ(completion.reason, std::string("the sweep was stopped before this case ended") +
                                     (of_candidate ? ": stopped by SIGINT" : ""));
  }
}

TEST(Completion, TheLastActionHasTheLargestIndexInAnyOrderOfRows) {
  SyntheticCell cell;
  for (auto& rank : cell.candidate.ranks)
    std::ranges::stable_sort(rank.actions, {}, [](const auto& row) { return std::pair(row.step, -row.index); });

  EXPECT_TRUE(cell.judge().holds);
}

}  // namespace
}  // namespace plumbline::testing
