// SPDX-License-Identifier: BSD-3-Clause
// Places of a mesh with an axis of tensor parallelism beside the data parallel one.
#include <gmock/gmock.h>

#include <cmath>

#include "harness/commands/compare.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/record/mesh_json.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string part_name = "model.layers.1.mlp.down_proj.weight";

/// dp 2 x tp 2: places 0 and 1 are fed one batch, 2 and 3 another. One parameter is split along tp.
class Places : public ::testing::Test {
 protected:
  Places() {
    for (std::int64_t place = 0; place < 4; ++place) {
      references_.push_back(of_place(synthetic_reference({}), place, 1));
      candidates_.push_back(of_place(synthetic_candidate({}), place, 2));
    }
  }

  static SyntheticRun of_place(SyntheticRun run, std::int64_t place, std::int64_t ranks) {
    Json replicas = Json::array();
    for (std::int64_t first = 0; first < 4; ++first) {
      Json mine = Json::array();
      for (std::int64_t rank = 0; rank < ranks; ++rank) mine.push_back(4 * rank + first);
      replicas.push_back(std::move(mine));
    }
    run.manifest["role"] = "external";
    run.manifest["run_id"] = run.manifest.at("run_id").get<std::string>().substr(0, 35) + std::to_string(place);
    run.manifest["norm_order"] = "per_rank";
    run.manifest["mesh"] = mesh_json({{"pp", ranks}, {"dp", 2}, {"tp", 2}}, replicas, place);
    run.manifest["mesh"]["parts"] = {{part_name, {{"axes", {"tp"}}, {"placements", "tp: Shard(dim=1)"}}}};
    for (MicrobatchRow& row : run.rows(&RankRecord::microbatches)) {
      if (!row.data_digest.empty()) row.data_digest = hash_hex(row.data_digest + std::to_string(place / 2));
    }
    digest_data_again(run);
    for (TensorRow& row : run.rows(&RankRecord::tensors)) {
      if (row.name == part_name) row.digest = hash_hex(row.digest + std::to_string(place % 2));
    }
    return run;
  }

  /// Every rank of each place clips by the norm of all parts, times `factor`.
  void give_norms(double factor = 1, bool parts_once = true) {
    for (auto* runs : {&references_, &candidates_}) {
      for (SyntheticRun& run : *runs) {
        for (std::int64_t step = 0; step < synthetic_steps; ++step) {
          double squares = 0;
          for (const TensorRow& row : run.rows(&RankRecord::tensors)) {
            if (row.step != step || row.kind != "gradient" || row.name == "lm_head.weight") continue;  // tied
            squares += (row.name == part_name || !parts_once ? 2 : 1) * row.l2 * row.l2;
          }
          for (StepRow& row : run.rows(&RankRecord::steps)) {
            if (row.step != step) continue;
            row.gradient_norm = factor * std::sqrt(squares);
            row.clip_coefficient = std::min(1.0, run.manifest.at("clip_norm").get<double>() / *row.gradient_norm);
          }
        }
      }
    }
  }
  void in_both(std::int64_t place, const std::function<void(SyntheticRun&)>& change) {
    for (auto* runs : {&references_, &candidates_}) change((*runs)[static_cast<std::size_t>(place)]);
  }
  /// The places of dp 1 get the data of dp 0.
  void feed_alike() {
    for (const std::int64_t place : {2, 3}) {
      in_both(place, [&](SyntheticRun& run) {
        const auto& other = (run.ranks.size() == 1 ? references_ : candidates_)[0];
        for (std::size_t rank = 0; rank < run.ranks.size(); ++rank)
          run.ranks[rank].microbatches = other.ranks[rank].microbatches;
        digest_data_again(run);
      });
    }
  }
  void write() {
    for (std::size_t place = 0; place < 4; ++place) {
      write_run(references_[place], reference_ / ("replica-" + std::to_string(place)));
      write_run(candidates_[place], candidate_ / ("replica-" + std::to_string(place)));
    }
  }
  CellVerdict verdict() {
    write();
    return judge_cell({}, reference_, candidate_);
  }

  TemporaryFolder folder_;
  const std::filesystem::path reference_ = folder_ / "one", candidate_ = folder_ / "two";
  std::vector<SyntheticRun> references_, candidates_;
};

TEST_F(Places, HoldWithPartsAlongOneAxisAndDataAlongTheOther) {
  give_norms();

  const CellVerdict cell = verdict();

  EXPECT_EQ(result_of(cell, "replicas").outcome, Outcome::holds) << result_of(cell, "replicas").reason;
  EXPECT_THAT(result_of(cell, "replicas").reason,
              HasSubstr("shared tensors have the same bits; 1 parameter is in parts, and the norm covers each "
                        "part once, and each is fed the data of its place"));
  EXPECT_GT(result_of(cell, "replicas").compared.at("norms"), 0);
  EXPECT_GT(result_of(cell, "replicas").compared.at("losses"), 0);
  EXPECT_EQ(result_of(cell, "gradient_norm").outcome, Outcome::holds) << "not that of one place's parts";
}

TEST_F(Places, APartThatDiffersFromThePlaceWithTheSamePartIsSeen) {
  give_norms();
  in_both(3, [](SyntheticRun& run) { tensor_row(run, 0, "parameter", part_name).digest = other_digest; });

  expect_finding(result_of(verdict(), "replicas").first_divergence.value(),
                 {.step = 0, .replica = 3, .item = part_name, .words = "dp 1, tp 1 has other bits than dp 0, tp 1"});
}

TEST_F(Places, AGradientOfAWholeParameterIsTheSameAtAllTensorParallelPlaces) {
  give_norms();
  for (const std::int64_t place : {1, 3}) {
    in_both(place,
            [](SyntheticRun& run) { tensor_row(run, 0, "gradient", "model.norm.weight").digest = other_digest; });
  }

  EXPECT_THAT(result_of(verdict(), "replicas").reason,
              HasSubstr("gradient model.norm.weight: dp 0, tp 1 and dp 1, tp 1 have other bits than dp 0, tp 0"));
}

TEST_F(Places, TensorParallelPlacesThatAreFedOtherDataAreSeen) {
  give_norms();
  in_both(1, [](SyntheticRun& run) {
    for (MicrobatchRow& row : run.rows(&RankRecord::microbatches)) {
      if (row.step == 1 && row.microbatch == 2 && !row.data_digest.empty()) row.data_digest = other_digest;
    }
    digest_data_again(run);
  });

  const auto finding = result_of(verdict(), "replicas").first_divergence.value();

  expect_finding(finding, {.step = 1, .microbatch = 2, .replica = 1, .item = "data", .got = other_digest});
  EXPECT_THAT(finding.words, HasSubstr("dp 0, tp 1 is fed other data than dp 0, tp 0"));
}

TEST_F(Places, DataParallelPlacesThatAreFedTheSameDataAreSeen) {
  give_norms();
  feed_alike();

  EXPECT_THAT(result_of(verdict(), "replicas").reason,
              HasSubstr("dp 1, tp 0 is fed the same microbatches as dp 0, tp 0"));
}

TEST_F(Places, ContextParallelPlacesMayHaveEqualParts) {
  give_norms();
  feed_alike();
  for (std::int64_t place = 0; place < 4; ++place)
    in_both(place, [](SyntheticRun& run) { run.manifest["mesh"]["axes"][1]["kind"] = "context"; });

  const CheckResult result = result_of(verdict(), "replicas");

  EXPECT_EQ(result.outcome, Outcome::holds) << result.reason;
  EXPECT_THAT(result.not_shown, ElementsAre("whether context parallel places are fed parts of the same rows"));
}

TEST_F(Places, LossesDifferWithTheData) {
  give_norms();
  for (const std::int64_t place : {2, 3}) {
    in_both(place, [](SyntheticRun& run) {
      for (MicrobatchRow& row : run.rows(&RankRecord::microbatches)) {
        if (row.loss) row.loss = *row.loss + 1;
      }
    });
  }

  EXPECT_EQ(result_of(verdict(), "replicas").outcome, Outcome::holds);
}

TEST_F(Places, TensorParallelPlacesHaveTheSameLosses) {
  give_norms();
  in_both(1, [](SyntheticRun& run) {
    for (MicrobatchRow& row : run.rows(&RankRecord::microbatches)) {
      if (row.step == 0 && row.microbatch == 1 && row.loss) row.loss = std::nextafter(*row.loss, 1.0F);
    }
  });

  const auto finding = result_of(verdict(), "replicas").first_divergence.value();

  expect_finding(finding, {.step = 0, .replica = 1, .item = "loss"});
  EXPECT_THAT(finding.words, AllOf(HasSubstr("dp 0, tp 1 has"), HasSubstr("tensor parallel places compute the same")));
}

TEST_F(Places, ANormThatCountsWholeParametersOncePerTensorRankIsSeen) {
  give_norms(1, false);

  EXPECT_THAT(result_of(verdict(), "replicas").reason,
              HasSubstr("gradient norm, step 0, dp 0, tp 0: the root of the sum of l2 squared over all parts is"));
}

TEST_F(Places, TheNormOfEachRankCoversAllParts) {
  give_norms();
  in_both(3, [](SyntheticRun& run) { *run.ranks.back().steps[1].gradient_norm *= 1.01; });

  expect_finding(
      result_of(verdict(), "replicas").first_divergence.value(),
      {.step = 1, .rank = 1, .replica = 3, .item = "gradient_norm", .words = "step 1, dp 1, tp 1: the root"});
}

TEST_F(Places, ANormWithoutTheGradientsOfOnePlaceIsNotJudged) {
  give_norms(2);
  in_both(1, [](SyntheticRun& run) {
    run.manifest["not_recorded"] = {{{"what", "gradients"}, {"why", "a hook failed"}}};
  });

  const CheckResult result = result_of(verdict(), "replicas");

  EXPECT_FALSE(result.compared.contains("norms"));
  EXPECT_THAT(result.not_shown, ElementsAre("the gradient norm over all parts"));
}

TEST_F(Places, BuffersMayDifferBetweenPlaces) {
  give_norms();
  for (std::int64_t place = 0; place < 4; ++place) {
    in_both(place, [&](SyntheticRun& run) {
      TensorRow row = tensor_row(run, 0, "parameter", "model.norm.weight");
      row.kind = "buffer";
      row.learning_rate.reset();
      row.name = "running_mean";
      row.digest = hash_hex(std::to_string(place));
      run.ranks.back().tensors.push_back(row);
    });
  }

  const CellVerdict cell = verdict();

  EXPECT_EQ(result_of(cell, "replicas").outcome, Outcome::holds) << result_of(cell, "replicas").reason;
}

TEST_F(Places, WithOtherPlacementsThanTheReferenceAreRefusedBeforeATableIsRead) {
  for (auto& run : references_) run.manifest["mesh"]["parts"][part_name]["placements"] = "tp: Shard(dim=0)";
  write();
  std::filesystem::remove(candidate_ / "replica-0/rank-0/steps.csv");

  EXPECT_THAT(
      error_of<InputError>([&] { compare_records(reference_, candidate_); }),
      HasSubstr(part_name + " is in parts (tp: Shard(dim=0)) in the reference and in parts (tp: Shard(dim=1))"));
}

TEST_F(Places, OneIsNamedByItsCoordinates) {
  write();

  EXPECT_EQ(compare_records(reference_ / "replica-2", candidate_ / "replica-2").variant, "dp 1, tp 0");
  EXPECT_EQ(compare_records(reference_, candidate_).variant, "dp 2, tp 2");
}

}  // namespace
}  // namespace plumbline::testing
