// SPDX-License-Identifier: BSD-3-Clause
// The element in which a case's second run differs, from the dumps of both runs; tests/approved/sessions/second-run.txt
// has the rest.
#include "record/digest.hpp"
#include "record/rank_folder.hpp"
#include "support/safetensors.hpp"
#include "tests/harness/sweep/run_sweep.hpp"

namespace plumbline::testing {
namespace {

/// The judge's arguments for one run.
struct GivenRun {
  CellPlan plan;
  fs::path reference, candidate;
  bool repeated;
};

/// One cell that fails these checks in its first run and those in its second, at a first divergence.
class SecondRunOf : public RunSweep {
 protected:
  SecondRunOf() {
    cells("repeat = [\"a-1f1b-w2\"]\n");
    services_.judge = [this](const CellPlan& plan, const fs::path& reference, const fs::path& candidate,
                             const std::optional<fs::path>& repeated) {
      const auto& failing = given_.empty() ? first_ : second_;
      given_.push_back({plan, reference, candidate, repeated.has_value()});
      CellVerdict verdict = failing_cell(plan.id, failing);
      if (divergence_) verdict.first_divergence = divergence_;
      return verdict;
    };
  }
  /// The check that is asked for needs no base to be measured.
  void cells(const std::string& more, const std::string& world_sizes = "[2]") {
    sweep_file("checks = [\"loss\"]\nrun = [\"a.toml\"]\nworld_sizes = " + world_sizes + "\nschedules = [\"1f1b\"]\n" +
               more);
  }
  void diverges(const std::string& words) {
    divergence_.emplace();
    divergence_->claim = first_.front();
    divergence_->words = words;
  }
  /// Of the only cell.
  SecondRun second_run() {
    const auto result = run();
    EXPECT_THAT(result.verdict.cells, SizeIs(1));
    return result.verdict.cells.at(0).second_run.value();
  }

  std::vector<std::string> first_, second_;
  std::optional<Finding> divergence_;
  std::vector<GivenRun> given_;
  const fs::path out_ = folder_ / "out";
};

const std::vector<std::int64_t> gradient_shape{2};

std::string gradient_digest(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return tensor_digest("float32", gradient_shape, {bytes.begin(), bytes.end()});
}

/// Both trainers leave the dumps of two steps, in which one gradient differs, in records that can be read.
class Localized : public SecondRunOf {
 protected:
  Localized() {
    first_ = second_ = {"gradients"};
    diverges("the bits differ");
    divergence_->step = 1;
    divergence_->rank = 0;
    divergence_->expected = gradient_digest(right_);
    divergence_->got = gradient_digest(wrong_);
    lay_records();
    dump("of-reference/rank-0/dumps", right_);
    dump("of-w2/rank-0/dumps", wrong_);
    behave(
        "case $record in */dumps/*)\n"
        "  of=$base/of-${record##*-}; [ $(basename $record) = reference-a ] && of=$base/of-reference\n"
        "  mkdir -p $record; cp -r $of/rank-$me $record/\n"
        "  [ $me = 0 ] && cp $of/manifest.json $of/schedule.csv $record/\n"
        "  page \"$record\" $me 0 -1 ${me}F0; exit 0 ;;\nesac\n");
  }
  void dump(const std::string& place, const std::vector<float>& values) const {
    make_folder(folder_ / place);
    for (const char* step : {"step-0.safetensors", "step-1.safetensors"}) {
      write_safetensors(folder_ / place / step,
                        {{"gradient/w", {"float32", gradient_shape, std::as_bytes(std::span(values))}}});
    }
  }
  const std::vector<float> right_{1, 2}, wrong_{1, 3};
};

TEST_F(Localized, TheVerdictNamesTheElementInsteadOfDigests) {
  divergence_->size = "norm 1.4 x";

  const auto result = run();

  ASSERT_TRUE(result.verdict.cells[0].first_divergence);
  const Finding& first = *result.verdict.cells[0].first_divergence;
  EXPECT_EQ(first.expected, "2");
  EXPECT_EQ(first.got, "3");
  const std::string element = "element [1] of 2: expected 2, got 3 (4194304 ULP); 1 of 2 elements differ";
  EXPECT_EQ(first.size, "norm 1.4 x; " + element);
  EXPECT_THAT(result.verdict.cells[0].second_run->words,
              EndsWith("First divergence: the bits differ; norm 1.4 x; " + element));
}

TEST_F(Localized, DumpsOfOtherStepsAreRemovedButTheReferencesStay) {
  run();

  EXPECT_TRUE(fs::exists(out_ / "dumps/a-1f1b-w2/rank-0/dumps/step-1.safetensors"));
  EXPECT_FALSE(fs::exists(out_ / "dumps/a-1f1b-w2/rank-0/dumps/step-0.safetensors"));
  EXPECT_TRUE(fs::exists(out_ / "dumps/reference-a/rank-0/dumps/step-0.safetensors"));
}

// Or the element of one place would stand beside the words of another.
TEST_F(Localized, AnotherDivergenceInTheSecondRunKeepsTheFirst) {
  const auto judge = services_.judge;
  services_.judge = [&](const CellPlan& plan, const auto&... runs) {
    CellVerdict verdict = judge(plan, runs...);
    if (given_.size() > 1) verdict.first_divergence->words = "the bits differ in step 1";
    return verdict;
  };

  const auto result = run();

  EXPECT_EQ(result.verdict.cells[0].first_divergence->expected, gradient_digest(right_));
  EXPECT_EQ(result.verdict.cells[0].first_divergence->size, "");
}

}  // namespace
}  // namespace plumbline::testing
