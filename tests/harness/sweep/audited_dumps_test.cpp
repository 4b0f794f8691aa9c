// SPDX-License-Identifier: BSD-3-Clause
// Removal of the dumps of cases that the key audit adds.
#include "harness/sweep/removed_records.hpp"
#include "record/removed_dumps.hpp"
#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class AuditedDumps : public RunSweep {
 protected:
  AuditedDumps() {
    sweep_file("audit = true\nrun = [\"a.toml\"]\nworld_sizes = [2, 3]\nschedules = [\"1f1b\"]\n");
    options_.judge = "one judge";
    behave("mkdir -p $record/rank-$me/dumps; echo values > $record/rank-$me/dumps/step-0.safetensors\n");
  }
  bool dumped(const std::string& record) const { return fs::exists(folder_ / "out" / record / "rank-0/dumps"); }
  bool removed(const std::string& record) const {
    EXPECT_TRUE(fs::exists(folder_ / "out" / record / "manifest.json"));
    return !dumped(record) && dumps_were_removed(folder_ / "out" / record);
  }
};

TEST_F(AuditedDumps, GoOnceTheReportIsWrittenAndTheCellHolds) {
  services_.write_reports = [this](const fs::path&) { EXPECT_TRUE(dumped("cells/a-dump-1f1b-w2")) << "not before"; };

  EXPECT_TRUE(run().verdict.holds);

  EXPECT_TRUE(removed("cells/a-dump-1f1b-w2"));
  EXPECT_TRUE(removed("references/a-dump"));
  EXPECT_TRUE(dumped("cells/a-1f1b-w2")) << "nobody but the key audit asked for the others'";
  EXPECT_TRUE(dumped("references/a"));
}

TEST_F(AuditedDumps, StayWhereTheyAreAskedFor) {
  options_.keep_dumps = true;

  const auto result = run();

  EXPECT_TRUE(dumped("cells/a-dump-1f1b-w2"));
  EXPECT_TRUE(dumped("references/a-dump"));
  EXPECT_THAT(result.verdict.cells.back().command, HasSubstr(" --keep-dumps"));
}

TEST_F(AuditedDumps, OfACellThatDoesNotHoldStay) {
  services_.judge = [judge = services_.judge](const CellPlan& plan, const auto&... runs) {
    auto verdict = judge(plan, runs...);
    verdict.holds = verdict.id != "a-dump-1f1b-w2";
    return verdict;
  };

  EXPECT_FALSE(run().verdict.holds);

  EXPECT_TRUE(dumped("cells/a-dump-1f1b-w2"));
  EXPECT_TRUE(dumped("references/a-dump"));
}

TEST_F(AuditedDumps, AreMadeAgainWhereAnotherJudgeNeedsThem) {
  run();
  fs::remove(folder_ / "calls");
  options_.resume = true;
  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), IsEmpty()) << "all is judged";

  options_.judge = "another judge";
  services_.judge = [this, judge = services_.judge](const CellPlan& plan, const fs::path& reference,
                                                    const fs::path& candidate,
                                                    const std::optional<fs::path>& repeated) {
    EXPECT_TRUE(fs::exists(reference / "rank-0/dumps")) << plan.id;
    EXPECT_TRUE(fs::exists(candidate / "rank-0/dumps")) << plan.id;
    return judge(plan, reference, candidate, repeated);
  };

  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(calls(), ElementsAre("plumbline-reference a-dump", "plumbline-pipeline a-dump-1f1b-w2"));
  EXPECT_TRUE(removed("cells/a-dump-1f1b-w2"));
}

/// A sweep of two audited references: a for the cases one and two, of which two was run twice, and b for the case
/// three.
class RemoveAuditedDumps : public ::testing::Test {
 protected:
  RemoveAuditedDumps() {
    folder_.file("sweep.json", R"({"schema": "plumbline-sweep/1", "started": "2026-01-02T03:04:05Z"})");
    for (const char* record :
         {"references/a", "references/b", "cells/one", "cells/two", "cells/three", "repeats/two"}) {
      folder_.file(std::string(record) + "/manifest.json", "{}");
      folder_.file(std::string(record) + "/rank-0/dumps/step-0.safetensors", "values");
    }
    plan_.references.resize(2);
    plan_.references[0].id = "a";
    plan_.references[1].id = "b";
    for (auto& reference : plan_.references) reference.changes.dump = true;
    for (const auto& [id, reference] : {std::pair("one", 0U), std::pair("two", 0U), std::pair("three", 1U)}) {
      plan_.cells.emplace_back().plan.id = id;
      plan_.cells.back().reference = reference;
    }
  }
  /// The records that hold dumps after cells were judged: those named hold or do not, and no other was judged.
  std::vector<std::string> dumped_after(const std::vector<std::pair<std::string, bool>>& judged) const {
    std::vector<CellVerdict> verdicts;
    for (const auto& [id, holds] : judged) {
      verdicts.emplace_back().id = id;
      verdicts.back().holds = holds;
    }
    remove_audited_dumps(plan_, verdicts, SweepFolder(folder_.path()));
    std::vector<std::string> records;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (entry.path().extension() == ".safetensors") {
        records.push_back(entry.path().lexically_relative(folder_.path()).string());
      }
    }
    for (auto& record : records) record.resize(record.find("/rank-0"));
    std::ranges::sort(records);
    return records;
  }
  TemporaryFolder folder_;
  SweepPlan plan_;
};

TEST_F(RemoveAuditedDumps, GoOfAReferenceAllOfWhoseCellsHoldAndOfTheirSecondRuns) {
  EXPECT_THAT(dumped_after({{"one", true}, {"two", true}, {"three", false}}),
              ElementsAre("cells/three", "references/b"));
}

TEST_F(RemoveAuditedDumps, StayOfAReferenceOneOfWhoseCellsDoesNotHold) {
  EXPECT_THAT(dumped_after({{"one", true}, {"two", false}, {"three", true}}),
              ElementsAre("cells/one", "cells/two", "references/a", "repeats/two"));
}

TEST_F(RemoveAuditedDumps, StayOfAReferenceOneOfWhoseCellsWasNotJudged) {
  EXPECT_THAT(dumped_after({{"one", true}, {"three", true}}),
              ElementsAre("cells/one", "cells/two", "references/a", "repeats/two"));
}

TEST_F(RemoveAuditedDumps, StayWhereTheKeyAuditDidNotAskForThem) {
  plan_.references[0].changes.dump = false;

  EXPECT_THAT(dumped_after({{"one", true}, {"two", true}, {"three", true}}),
              ElementsAre("cells/one", "cells/two", "references/a", "repeats/two"));
}

}  // namespace
}  // namespace plumbline::testing
