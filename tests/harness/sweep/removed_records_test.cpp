// SPDX-License-Identifier: BSD-3-Clause
// --keep failures: what is removed, what stays, and what can be done with it.
#include "harness/sweep/removed_records.hpp"

#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class KeepFailures : public RunSweep {
 protected:
  KeepFailures() {
    options_.keep_failures = true;
    services_.judge_reference = [](const fs::path& record, const judging::DataCoverageRequest&) {
      CheckResult bench;
      bench.name = "bench";
      bench.outcome = fs::exists(record / "manifest.json") ? Outcome::holds : Outcome::incomplete;
      return std::vector<CheckResult>{bench};
    };
    options_.judge = "one judge";
    behave("[ $(basename $record) = a-1f1b-w2 ] && [ ! -e $base/mended ] && [ $me = 0 ] && exit 1\n");
    run();
    fs::remove(folder_ / "calls");
  }
  bool has_record(const std::string& place) const { return fs::exists(folder_ / "out" / place / "manifest.json"); }
};

TEST_F(KeepFailures, RecordsOfWhatHoldsGoAndAllElseStays) {
  EXPECT_TRUE(has_record("references/a")) << "a failing cell was judged by it";
  EXPECT_FALSE(has_record("references/b"));
  EXPECT_FALSE(has_record("cells/a-1f1b-w1"));
  EXPECT_FALSE(record_was_removed(folder_ / "out/cells/a-1f1b-w2"));
  EXPECT_TRUE(record_was_removed(folder_ / "out/cells/b-1f1b-w2"));
  EXPECT_EQ(read_verdict(folder_ / "out/verdict.json").cells.size(), 4U);
}

TEST_F(KeepFailures, JudgedAgainTheyKeepTheirVerdicts) {
  const auto before = judged_.size();

  const Verdict verdict = judge_again(folder_ / "out", services_, nullptr, stderr);

  EXPECT_EQ(judged_.size(), before + 1) << "the failing one alone";
  EXPECT_EQ(verdict.cells.size(), 4U);
  EXPECT_EQ(verdict.counts.at("cases_holding"), 3);
  for (const auto& reference : verdict.references) EXPECT_EQ(reference.checks.at(0).outcome, Outcome::holds);
  EXPECT_EQ(verdict.machine.at("machine").at("cpu"), "fake");
}

TEST_F(KeepFailures, ResumedNothingRunsAgainAndUnderAnotherJudgeWhatIsGoneDoes) {
  options_.resume = true;
  run();
  EXPECT_THAT(calls(), IsEmpty());

  options_.judge = "another judge";
  folder_.file("mended", "");
  run();
  EXPECT_THAT(calls(), Contains("plumbline-reference b"));
  EXPECT_THAT(calls(), Contains("plumbline-pipeline b-1f1b-w2"));
  EXPECT_THAT(calls(), Not(Contains("plumbline-reference a")));
}

/// A sweep's folder and verdict: references r and s, the cases c and d of r, e of s.
class RemovedRecords : public ::testing::Test {
 protected:
  RemovedRecords() {
    make_folder(out_);
    SweepFolder::write_sweep(out_, "small", {}, "2026-11-22T10:00:00Z", nullptr);
    for (const char* id : {"r", "s"}) {
      plan_.references.push_back({id, "run.toml", {}});
      ReferenceVerdict reference;
      reference.id = id;
      reference.finished = true;
      verdict_.references.push_back(reference);
      folder_.file(std::string("out/references/") + id + "/manifest.json", "{}");
    }
    for (const auto& [id, reference] : std::map<std::string, std::size_t>{{"c", 0}, {"d", 0}, {"e", 1}}) {
      PlannedCell cell;
      cell.plan.id = id;
      cell.reference = reference;
      plan_.cells.push_back(cell);
      CellVerdict judged;
      judged.id = id;
      judged.holds = true;
      verdict_.cells.push_back(judged);
      folder_.file("out/cells/" + id + "/manifest.json", "{}");
      folder_.file("out/cells/" + id + "/rank-0/tensors.csv", "");
      folder_.file("out/cells/" + id + "/cell.json", "{}");
      folder_.file("out/repeats/" + id + "/manifest.json", "{}");
    }
    verdict_.started = "2026-11-22T10:00:00Z";
    verdict_.machine = {{"cpu", "fake"}};
  }
  void remove() { remove_records_that_hold(plan_, verdict_, SweepFolder(out_)); }
  bool is_there(const std::string& place) const { return fs::exists(out_ / place); }

  TemporaryFolder folder_;
  const fs::path out_ = folder_ / "out";
  SweepPlan plan_;
  Verdict verdict_;
};

TEST_F(RemovedRecords, OfCellsThatHoldGoWithTheirRepeatsAndReferences) {
  remove();

  for (const std::string id : {"c", "d", "e"}) {
    EXPECT_FALSE(is_there("cells/" + id + "/manifest.json"));
    EXPECT_FALSE(is_there("cells/" + id + "/rank-0"));
    EXPECT_TRUE(is_there("cells/" + id + "/cell.json"));
    EXPECT_FALSE(is_there("repeats/" + id + "/manifest.json"));
  }
  for (const std::string id : {"r", "s"}) {
    EXPECT_FALSE(is_there("references/" + id + "/manifest.json"));
    const auto kept = kept_of_reference(out_ / "references" / id);
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->name, id);
    EXPECT_EQ(kept->started, "2026-11-22T10:00:00Z");
    EXPECT_EQ(kept->machine, Json({{"cpu", "fake"}}));
    EXPECT_EQ(kept->references.at(0).id, id);
  }
}

TEST_F(RemovedRecords, AreNotThoseOfACellThatFailedItsFirstRunNorItsReferences) {
  verdict_.cells[1].second_run = SecondRun{SecondRun::Outcome::holds, "it did not fail in the second run"};

  remove();

  EXPECT_FALSE(is_there("cells/c/manifest.json"));
  EXPECT_TRUE(is_there("cells/d/manifest.json"));
  EXPECT_TRUE(is_there("repeats/d/manifest.json"));
  EXPECT_TRUE(is_there("references/r/manifest.json"));
  EXPECT_FALSE(is_there("references/s/manifest.json"));
}

TEST_F(RemovedRecords, AreNotThoseOfACellThatWasNotJudgedNorItsReferences) {
  verdict_.cells.pop_back();

  remove();

  EXPECT_TRUE(is_there("cells/e/manifest.json"));
  EXPECT_TRUE(is_there("references/s/manifest.json"));
  EXPECT_FALSE(is_there("references/r/manifest.json"));
}

TEST_F(RemovedRecords, AreNotThoseOfAReferenceWithoutAVerdict) {
  verdict_.references.pop_back();

  remove();

  EXPECT_TRUE(is_there("references/s/manifest.json"));
}

// The stored result is the only one: a later verdict without the record does not replace it.
TEST_F(RemovedRecords, OfAReferenceAreNotRemovedTwice) {
  remove();
  verdict_.machine = {{"cpu", "another"}};

  remove();

  EXPECT_EQ(kept_of_reference(out_ / "references/r")->machine, Json({{"cpu", "fake"}}));
}

TEST_F(RemovedRecords, OfWhichMoreOrLessThanOneReferenceWasKeptAreDamaged) {
  remove();
  write_verdict(out_ / "references/r/reference.json", {});

  EXPECT_THAT(error_of<InputError>([&] { kept_of_reference(out_ / "references/r"); }),
              AllOf(HasSubstr("references/r/reference.json"), HasSubstr("is not as this program wrote it")));
}

}  // namespace
}  // namespace plumbline::testing
