// SPDX-License-Identifier: BSD-3-Clause
// compare on the places of a mesh; tests/approved/verdicts/replicas.txt and places.txt have the verdicts.
#include <gmock/gmock.h>

#include "harness/commands/compare.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/changed_json.hpp"
#include "tests/harness/judge/sample_cells.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ComparedPlaces : public ::testing::Test {
 protected:
  void write(const std::string& start, const std::function<void(SampleCell&)>& change = {}) {
    cell_ = sample_cell(start);
    if (change) change(*cell_);
    write_files(*cell_);
    reference_ = cell_->folder / "reference";
    candidate_ = cell_->folder / "candidate";
  }
  std::string refusal() const {
    return error_of<InputError>([&] { compare_records(reference_, candidate_); });
  }
  std::unique_ptr<SampleCell> cell_;
  fs::path reference_, candidate_;
};

TEST_F(ComparedPlaces, AreOnePage) {
  write("start replicas", [](SampleCell& cell) {
    tensor_row(cell.candidates[1], 1, "gradient", "model.norm.weight").digest = other_digest;
  });

  const Verdict whole = comparison(reference_, candidate_);
  write_comparison(cell_->folder / "page", reference_, candidate_, whole);

  EXPECT_EQ(whole.cells[0].variant, "replica 3");
  EXPECT_EQ(whole.cells[0].world, 6);
  EXPECT_EQ(read_verdict(cell_->folder / "page/verdict.json").cells[0].first_divergence->replica, 1);
  EXPECT_THAT(read_file(cell_->folder / "page/report.html"),
              AllOf(HasSubstr("gradient model.norm.weight"), Not(HasSubstr("cannot be read"))));
}

TEST_F(ComparedPlaces, AreRefusedIfOneIsMissingTruncatedOrOfOtherPlacements) {
  write("start replicas");
  fs::resize_file(candidate_ / "replica-2/rank-0/steps.csv",
                  fs::file_size(candidate_ / "replica-2/rank-0/steps.csv") - 1);
  EXPECT_THAT(refusal(), HasSubstr("replica-2/rank-0/steps.csv"));
  fs::remove_all(candidate_ / "replica-1");
  EXPECT_THAT(refusal(), HasSubstr("replica-1: does not exist"));

  write("start places");
  for (const char* place : {"replica-0", "replica-1", "replica-2", "replica-3"}) {
    const fs::path manifest = reference_ / place / "manifest.json";
    write_json(manifest, changed(read_json(manifest),
                                 "/mesh/parts/model.layers.1.mlp.down_proj.weight/placements \"tp: Shard(dim=0)\""));
  }
  fs::remove(candidate_ / "replica-0/rank-0/steps.csv");
  EXPECT_THAT(refusal(), HasSubstr(" is in parts (tp: Shard(dim=0)) in the reference and in parts (tp: Shard(dim=1))"))
      << "refused before a table is read";
}

TEST_F(ComparedPlaces, OneIsNamedByItsCoordinates) {
  write("start places");

  EXPECT_EQ(compare_records(reference_ / "replica-2", candidate_ / "replica-2").variant, "dp 1, tp 0");
  EXPECT_EQ(compare_records(reference_, candidate_).variant, "dp 2, tp 2");
}

TEST_F(ComparedPlaces, AFailedRankIsBlamedOnlyInItsPipeline) {
  write("start replicas");
  fs::remove(candidate_ / "replica-1/rank-1/exit.json");
  CellPlan plan;
  plan.launch = LaunchFinding{.exit_code = 137, .culprit_rank = 4, .words = "rank 4 was killed"};  // 1 of replica 1
  const auto blamed = [&](const char* replica) {
    const CellVerdict verdict = judge_cell(plan, reference_ / replica, candidate_ / replica);
    return result_of(verdict, "completion").first_divergence.value().rank;
  };
  EXPECT_EQ(blamed("replica-0"), std::nullopt);
  EXPECT_EQ(blamed("replica-1"), 1);
}

}  // namespace
}  // namespace plumbline::testing
