// What becomes of the dumps of the cells that the key audit adds.
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
  services_.judge = [judge = services_.judge](const CellPlan& plan, const fs::path& reference,
                                              const fs::path& candidate, const std::optional<fs::path>& repeated) {
    auto verdict = judge(plan, reference, candidate, repeated);
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

}  // namespace
}  // namespace plumbline::testing
