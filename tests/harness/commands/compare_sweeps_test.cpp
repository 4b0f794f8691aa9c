// SPDX-License-Identifier: BSD-3-Clause
// Two sweeps: what changed in bits, in bytes, and in cases; what was left out, and why.
#include "harness/commands/compare_sweeps.hpp"

#include "harness/commands/commands.hpp"
#include "record/writer.hpp"
#include "support/csv.hpp"
#include "support/text.hpp"
#include "tests/harness/commands/finished_sweep.hpp"

namespace plumbline::testing {
namespace {

class CompareSweeps : public FinishedSweepFolder {
 protected:
  /// The folder `before` holds the sweep; the same is then run once more.
  CompareSweeps() {
    for (const char* launch : {"reference-r", "c"})
      write_json(out_ / "launches" / launch / "request.json",
                 {{"schema", "plumbline-request/1"}, {"seed", cell_.candidate.manifest.at("seed")}});
    judge_records();
    std::filesystem::copy(out_, before_, std::filesystem::copy_options::recursive);
    for (auto* run : {&cell_.reference, &cell_.candidate}) {
      run->manifest["run_id"] = new_run_id();
      for (auto& rank : run->ranks)
        for (auto& row : rank.steps) row.seconds = 2.5;
    }
    run_again();
  }
  void run_again() {
    write_records();
    judge_records();
  }
  void edit(const std::function<void(Verdict&)>& change) const {
    Verdict verdict = read_verdict(out_ / "verdict.json");
    change(verdict);
    write_verdict(out_ / "verdict.json", verdict);
  }
  /// Says that the later runs were requested this.
  void request(const char* key, const Json& value) const {
    edit([&](Verdict& verdict) { verdict.references[0].request[key] = verdict.cells[0].request[key] = value; });
  }
  Result compare(const std::string& options = "") const {
    return command_result([](CLI::App& app) { return add_compare_command(app, {}); },
                          "compare " + before_.string() + " " + out_.string() + options);
  }
  const std::filesystem::path before_ = folder_ / "before";
};

TEST_F(CompareSweeps, EqualRunsAreEqualEvenIfCasesKeptOnlyMemory) {
  const Result whole = compare();
  EXPECT_EQ(whole.code, 0) << whole.said;
  EXPECT_THAT(whole.said, StartsWith("EQUAL\ncompared: 1 reference in bits, "));
  const std::int64_t numbers = compare_sweeps(before_, out_).byte_counts;
  EXPECT_GT(numbers, 0);

  for (const char* rank : {"rank-0", "rank-1"})
    for (const auto& entry : std::filesystem::directory_iterator(before_ / "cells/c" / rank))
      if (entry.path().filename() != "memory.csv") std::filesystem::remove_all(entry.path());
  std::filesystem::remove(before_ / "cells/c/manifest.json");
  EXPECT_EQ(compare().code, 0) << compare().said;
  EXPECT_EQ(compare_sweeps(before_, out_).byte_counts, numbers);
}

TEST_F(CompareSweeps, ACopyOfTheSweepIsRefused) {
  std::filesystem::remove_all(before_);
  std::filesystem::copy(out_, before_, std::filesystem::copy_options::recursive);

  const Result result = compare();

  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.said, HasSubstr("are the same run"));
  EXPECT_THAT(result.said, HasSubstr("run the sweep again into a new folder"));
}

TEST_F(CompareSweeps, OtherBitsOfBothTrainersEndAtTheirFirstDivergence) {
  for (auto* run : {&cell_.reference, &cell_.candidate})
    tensor_row(*run, 1, "parameter", "model.norm.weight").digest = other_digest;
  run_again();

  const Result result = compare();

  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.said, HasSubstr("CHANGED\n"));
  EXPECT_THAT(result.said, ::testing::ContainsRegex("changed: bits, r: first divergence: step 1.*model.norm.weight"));
}

TEST_F(CompareSweeps, OtherBytesAreNamedWithTheirRankAndFirstStep) {
  const std::filesystem::path file = out_ / "cells/c/rank-1/memory.csv";
  CsvTable table = read_csv(file);
  table.rows.at(1).cells.at(table.column("gradient_bytes")) = "7";
  std::string text = join(table.header, ",") + "\n";
  for (const CsvRow& row : table.rows) text += join(row.cells, ",") + "\n";
  write_file(file, text);

  EXPECT_THAT(
      compare_sweeps(before_, out_).changes,
      ElementsAre(AllOf(StartsWith("bytes, c: rank 1, from step 1 on: gradient_bytes "), EndsWith(" before, 7 now"))));
}

TEST_F(CompareSweeps, ARequestThatPromisesTheSameBitsLeavesOutTheBytesAndSaysSo) {
  request("recompute", "layer");

  const SweepComparison compared = compare_sweeps(before_, out_);

  EXPECT_THAT(compared.changes, IsEmpty());
  EXPECT_EQ(compared.references, 1);
  EXPECT_EQ(compared.byte_counts, 0);
  EXPECT_THAT(compared.not_compared,
              ElementsAre("bytes, r: another run was requested (recompute: absent before, layer now)",
                          "bytes, c: another run was requested (recompute: absent before, layer now)"));
}

TEST_F(CompareSweeps, OnAnotherCodePathOnlyBytesAreCompared) {
  edit([](Verdict& verdict) { verdict.machine["versions"]["libtorch"] = "9.9"; });

  const SweepComparison compared = compare_sweeps(before_, out_);

  EXPECT_EQ(compared.references, 0);
  EXPECT_GT(compared.byte_counts, 0);
  EXPECT_THAT(compared.not_compared,
              ElementsAre(StartsWith("bits: computed on another code path (versions/libtorch: ")));
  EXPECT_THAT(compared.environment, ElementsAre(EndsWith(", 9.9 now")));
  const Result result = compare();
  EXPECT_THAT(result.said, StartsWith("VERDICTS EQUAL; no bits could be compared\n"));
  EXPECT_EQ(result.code, 3);

  request("seed", 99);
  EXPECT_EQ(compare_sweeps(before_, out_).byte_counts, 0);
  EXPECT_EQ(compare().code, 3);
}

TEST_F(CompareSweeps, CasesThatAreGoneFailOrLostACheckAreChanges) {
  edit([](Verdict& verdict) {
    for (CheckResult& each : verdict.cells[0].checks)
      if (each.name == "loss") each.outcome = Outcome::does_not_apply;
  });
  EXPECT_THAT(compare_sweeps(before_, out_).changes,
              ElementsAre("case c: check loss: held before, does not apply now"));
  edit([](Verdict& verdict) {
    verdict.holds = verdict.cells[0].holds = false;
    verdict.cells[0].checks.front().outcome = Outcome::differs;
    verdict.cells[0].first_divergence.reset();
  });
  EXPECT_THAT(compare_sweeps(before_, out_).changes, ElementsAre(StartsWith("case c: does not hold: ")));
  edit([](Verdict& verdict) { verdict.cells.clear(); });
  EXPECT_THAT(compare_sweeps(before_, out_).changes, ElementsAre("case c: was run before but not now"));
}

TEST_F(CompareSweeps, OptionsAreForTwoRecords) {
  const Result result = compare(" --json");

  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.said, HasSubstr("two sweeps are compared without options"));
}

}  // namespace
}  // namespace plumbline::testing
