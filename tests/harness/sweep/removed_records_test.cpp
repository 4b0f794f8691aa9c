// --keep failures: what goes, what stays, and what can still be done with what stays.
#include "harness/sweep/removed_records.hpp"

#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

class KeepFailures : public RunSweep {
 protected:
  KeepFailures() {
    options_.keep_failures = true;
    services_.judge_reference = [](const fs::path& record, const judging::BenchRequest&) {
      CheckResult bench;
      bench.name = "bench";
      bench.outcome = fs::exists(record / "manifest.json") ? Outcome::holds : Outcome::not_run;
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
  EXPECT_EQ(verdict.counts.at("cells_holding"), 3);
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
  EXPECT_THAT(calls(), ::testing::Contains("plumbline-reference b"));
  EXPECT_THAT(calls(), ::testing::Contains("plumbline-pipeline b-1f1b-w2"));
  EXPECT_THAT(calls(), Not(::testing::Contains("plumbline-reference a")));
}

}  // namespace
}  // namespace plumbline::testing
