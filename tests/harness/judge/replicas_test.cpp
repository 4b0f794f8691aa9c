// SPDX-License-Identifier: BSD-3-Clause
// Data parallel pipelines as one case: each compared with the reference's, and all with each other.
#include <gmock/gmock.h>

#include "harness/commands/compare.hpp"
#include "record/digest.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/json_text.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/record/mesh_json.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Three replicas of the synthetic runs, which differ in their data alone; tests change one and judge all.
class Replicas : public ::testing::Test {
 protected:
  static constexpr std::int64_t count = 3;

  Replicas() {
    for (std::int64_t replica = 0; replica < count; ++replica) {
      references_.push_back(of_replica(synthetic_reference({}), replica, 1));
      candidates_.push_back(of_replica(synthetic_candidate({}), replica, 2));
    }
  }

  static SyntheticRun of_replica(SyntheticRun run, std::int64_t replica, std::int64_t ranks) {
    Json replicas = Json::array();
    for (std::int64_t first = 0; first < count; ++first) {
      Json mine = Json::array();
      for (std::int64_t rank = 0; rank < ranks; ++rank) mine.push_back(first + rank * count);
      replicas.push_back(std::move(mine));
    }
    run.manifest["role"] = "external";
    run.manifest["run_id"] = run.manifest.at("run_id").get<std::string>().substr(0, 35) + std::to_string(replica);
    run.manifest["mesh"] = mesh_json({{"replica", count}, {"pp", ranks}}, replicas, replica);
    for (MicrobatchRow& row : run.rows(&RankRecord::microbatches)) {
      if (!row.data_digest.empty()) row.data_digest = hash_hex(row.data_digest + std::to_string(replica));
    }
    digest_data_again(run);
    return run;
  }

  void write() {
    for (std::int64_t replica = 0; replica < count; ++replica) {
      const auto at = static_cast<std::size_t>(replica);
      const std::string name = "replica-" + std::to_string(replica);
      write_run(references_[at], reference_ / name);
      write_run(candidates_[at], candidate_ / name);
    }
  }
  CellVerdict verdict(const CellPlan& plan = {}) {
    write();
    return judge_cell(plan, reference_, candidate_);
  }
  /// The same mistake in the replica's reference: what no comparison with that one can see.
  void in_both(std::int64_t replica, const std::function<void(SyntheticRun&)>& change) {
    for (auto* runs : {&references_, &candidates_}) change((*runs)[static_cast<std::size_t>(replica)]);
  }

  TemporaryFolder folder_;
  const std::filesystem::path reference_ = folder_ / "one", candidate_ = folder_ / "two";
  std::vector<SyntheticRun> references_, candidates_;
};

TEST_F(Replicas, HoldIfEqualAndFedTheirOwnData) {
  const CellVerdict cell = verdict();

  EXPECT_TRUE(cell.holds) << comparison_text(cell);
  EXPECT_EQ(result_of(cell, "replicas").outcome, Outcome::holds);
  EXPECT_GT(result_of(cell, "replicas").compared.at("tensors"), 0);
  EXPECT_THAT(result_of(cell, "completion").reason, HasSubstr("each of 3 places: 3 ranks of both runs ended well"));
  EXPECT_THAT(comparison_text(cell), Not(HasSubstr("other places of the mesh")));
  EXPECT_EQ(result_of(cell, "gradients").compared.at("tensors"),
            3 * result_of(judge_cell({}, reference_ / "replica-0", candidate_ / "replica-0"), "gradients")
                    .compared.at("tensors"));
}

TEST_F(Replicas, OneWithoutAnyValidLabelHoldsInItsData) {
  in_both(1, [](SyntheticRun& run) {
    for (MicrobatchRow& row : run.rows(&RankRecord::microbatches)) row.valid_tokens = 0;
    for (StepRow& row : run.rows(&RankRecord::steps)) row.live_tokens = row.valid_tokens = 0;
  });

  const CellVerdict cell = verdict();

  EXPECT_EQ(result_of(cell, "data").outcome, Outcome::holds) << result_of(cell, "data").reason;
}

// Their steps have the tokens and the loss of all replicas, in the reference, too.
TEST_F(Replicas, OurPipelinesMayBeComparedWithEachOther) {
  for (std::int64_t replica = 0; replica < count; ++replica) {
    SyntheticRun& other = references_[static_cast<std::size_t>(replica)];
    const Json run_id = other.manifest["run_id"];
    other = of_replica(synthetic_candidate({.schedule = "afab"}), replica, 2);
    other.manifest["run_id"] = run_id;
    in_both(replica, [](SyntheticRun& run) {
      run.manifest["role"] = "pipeline";
      for (StepRow& row : run.rows(&RankRecord::steps)) {
        row.tokens *= count;
        row.valid_tokens *= count;
        if (!row.loss) continue;
        row.loss = 0.0F;
        for (std::int64_t other = 0; other < count; ++other) {
          for (const MicrobatchRow& of : run.rows(&RankRecord::microbatches)) {
            if (of.step == row.step && of.loss) *row.loss += *of.loss;
          }
        }
      }
    });
  }

  const CellVerdict cell = verdict();

  for (const char* check : {"completion", "data", "loss", "replicas"})
    EXPECT_EQ(result_of(cell, check).outcome, Outcome::holds) << result_of(cell, check).reason;

  for (const auto& folder : {reference_, candidate_}) std::filesystem::remove_all(folder);
  in_both(2, [](SyntheticRun& run) { run.ranks[0].steps[1].valid_tokens -= 1; });
  EXPECT_THAT(result_of(verdict(), "replicas").reason, HasSubstr("valid_tokens of the step, step 1: replica 2 has"));
}

TEST_F(Replicas, OneThatDiffersFromItsReferenceIsNamed) {
  tensor_row(candidates_[1], 1, "gradient", "model.norm.weight").digest = other_digest;

  const CellVerdict cell = verdict();

  EXPECT_FALSE(cell.holds);
  EXPECT_THAT(result_of(cell, "gradients").reason,
              HasSubstr("replica 1: step 1, stage 1, rank 1, gradient model.norm.weight"));
  EXPECT_EQ(cell.first_divergence->replica, 1);
  EXPECT_EQ(cell.first_divergence->level, "R3") << "beside what the replicas have to say of it";
  EXPECT_EQ(cell.first_divergence->words.find("replica 1: step 1, stage 1, rank 1, gradient model.norm.weight"), 0U)
      << cell.first_divergence->words;
  EXPECT_THAT(
      result_of(cell, "replicas").reason,
      HasSubstr("step 1, stage 1, gradient model.norm.weight: replica 1 has other bits than replica 0 and replica 2"));
}

TEST_F(Replicas, TheEarliestDivergenceIsReported) {
  tensor_row(candidates_[1], 1, "gradient", "model.norm.weight").digest = other_digest;
  tensor_row(candidates_[2], 0, "gradient", "model.norm.weight").digest = other_digest;

  const CellVerdict cell = verdict();

  expect_finding(*cell.first_divergence, {.step = 0, .replica = 2});
  EXPECT_THAT(result_of(cell, "gradients").reason,
              AllOf(HasSubstr("replica 1: step 1, "), HasSubstr("; replica 2: step 0, ")));
}

TEST_F(Replicas, AnUnreducedGradientIsFoundEvenIfTheReferenceHasIt) {
  in_both(2, [](SyntheticRun& run) { tensor_row(run, 0, "gradient", "model.norm.weight").digest = other_digest; });

  const CellVerdict cell = verdict();

  EXPECT_EQ(result_of(cell, "gradients").outcome, Outcome::holds);
  EXPECT_FALSE(cell.holds);
  EXPECT_THAT(
      cell.first_divergence->words,
      AllOf(HasSubstr(
                "step 0, stage 1, gradient model.norm.weight: replica 2 has other bits than replica 0 and replica 1"),
            HasSubstr("recorded after they are summed over places")));
}

TEST_F(Replicas, UnreducedGradientsMayDiffer) {
  for (std::int64_t replica = 0; replica < count; ++replica) {
    in_both(replica, [](SyntheticRun& run) { run.manifest["mesh"]["gradients"] = "own"; });
  }
  in_both(2, [](SyntheticRun& run) { tensor_row(run, 0, "gradient", "model.norm.weight").digest = other_digest; });

  const CellVerdict cell = verdict();

  EXPECT_EQ(result_of(cell, "replicas").outcome, Outcome::holds) << result_of(cell, "replicas").reason;
  EXPECT_THAT(comparison_text(cell), HasSubstr("  gradients of the places (each records its own"));
}

TEST_F(Replicas, ASkippedUpdateIsReported) {
  in_both(0, [](SyntheticRun& run) {
    tensor_row(run, 1, "parameter", "model.norm.weight").digest =
        tensor_row(run, 0, "parameter", "model.norm.weight").digest;
  });

  const CellVerdict cell = verdict();

  EXPECT_FALSE(cell.holds);
  EXPECT_THAT(
      result_of(cell, "replicas").reason,
      AllOf(HasSubstr(
                "step 1, stage 1, parameter model.norm.weight: replica 0 has other bits than replica 1 and replica 2"),
            HasSubstr("in replica 0 it is unchanged by the step")));
}

TEST_F(Replicas, StartsThatDifferAreSeen) {
  in_both(1, [](SyntheticRun& run) { tensor_row(run, -1, "parameter", "model.norm.weight").digest = other_digest; });

  EXPECT_THAT(result_of(verdict(), "replicas").reason, HasSubstr("the start, stage 1, parameter model.norm.weight"));
}

TEST_F(Replicas, TwoThatAreFedTheSameDataAreSeen) {
  in_both(2, [&](SyntheticRun& run) {
    const auto& other = (run.ranks.size() == 1 ? references_ : candidates_)[0];
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank)
      run.ranks[rank].microbatches = other.ranks[rank].microbatches;
    digest_data_again(run);
  });

  const CellVerdict cell = verdict();

  EXPECT_EQ(result_of(cell, "data").outcome, Outcome::holds) << "the reference is fed so too";
  EXPECT_THAT(result_of(cell, "replicas").reason,
              HasSubstr("step 0, data: replica 2 is fed the same microbatches as replica 0"));
  CellPlan without;
  without.checks = {"data", "gradients", "parameters"};
  EXPECT_TRUE(judge_cell(without, reference_, candidate_).holds) << "where that is meant";
}

TEST_F(Replicas, AnotherNumberThanTheReferencesIsReported) {
  for (auto& run : references_) {
    run.manifest["mesh"] = mesh_json({{"replica", 1}, {"pp", 1}}, Json::array({Json::array({0})}), 0);
  }
  write();
  for (const char* name : {"replica-1", "replica-2"}) std::filesystem::remove_all(reference_ / name);

  const CellVerdict cell = judge_cell({}, reference_, candidate_);

  EXPECT_THAT(result_of(cell, "data").reason,
              HasSubstr("the mesh's axes but the pipeline's are none in the reference and replica 3 (replicate)"));
}

TEST_F(Replicas, ABrokenOffReplicaStopsTheComparison) {
  candidates_[1].ranks[0].exit.reset();

  const CellVerdict cell = verdict();

  EXPECT_THAT(result_of(cell, "completion").reason, HasSubstr("replica 1: candidate: rank 0 left no exit.json"));
  EXPECT_EQ(result_of(cell, "replicas").outcome, Outcome::incomplete);
}

TEST_F(Replicas, FoldersOfDifferentRunsAreRefused) {
  write();
  std::filesystem::remove_all(candidate_ / "replica-1");

  const CellVerdict cell = judge_cell({}, reference_, candidate_);

  EXPECT_THAT(result_of(cell, "completion").reason,
              HasSubstr("replica-1: does not exist, but by the mesh of the others 3"));
  EXPECT_THAT(error_of<InputError>([&] { compare_records(reference_, candidate_); }),
              HasSubstr("replica-1: does not exist"));
}

TEST_F(Replicas, ComparedWholeTheyAreOnePage) {
  tensor_row(candidates_[1], 1, "gradient", "model.norm.weight").digest = other_digest;
  write();

  const Verdict whole = comparison(reference_, candidate_);
  write_comparison(folder_ / "page", reference_, candidate_, whole);

  EXPECT_EQ(whole.cells[0].variant, "replica 3");
  EXPECT_EQ(whole.cells[0].world, 6);
  EXPECT_EQ(read_verdict(folder_ / "page/verdict.json").cells[0].first_divergence->replica, 1);
  EXPECT_THAT(read_file(folder_ / "page/report.html"),
              AllOf(HasSubstr("gradient model.norm.weight"), Not(HasSubstr("cannot be read"))));
}

TEST_F(Replicas, ATruncatedTableOfOneIsAnInputErrorOfCompare) {
  write();
  const auto path = candidate_ / "replica-2/rank-0/steps.csv";
  const std::string bytes = bytes_of(path);
  write_file(path, bytes.substr(0, bytes.size() - 1));

  EXPECT_THAT(error_of<InputError>([&] { compare_records(reference_, candidate_); }),
              HasSubstr("replica-2/rank-0/steps.csv"));
}

TEST_F(Replicas, GapsOfOnePlaceAreNamedThereAndCommonGapsOnce) {
  in_both(1, [](SyntheticRun& run) { keep_start(run); });
  EXPECT_THAT(result_of(verdict(), "parameters").not_shown,
              ::testing::ElementsAre(::testing::StartsWith("replica 1: a wrong update")));
  for (const std::int64_t replica : {0, 2}) in_both(replica, [](SyntheticRun& run) { keep_start(run); });
  for (const auto& folder : {reference_, candidate_}) std::filesystem::remove_all(folder);
  EXPECT_THAT(result_of(verdict(), "parameters").not_shown,
              ::testing::ElementsAre(::testing::StartsWith("a wrong update")));
}

TEST_F(Replicas, CountsOfAllAreAddedUp) {
  const CellVerdict cell = verdict();

  const auto& all = result_of(cell, "data");
  const auto one = result_of(judge_cell({}, reference_ / "replica-0", candidate_ / "replica-0"), "data");

  ASSERT_FALSE(one.compared.empty());
  for (const auto& [what, number] : one.inspected) EXPECT_EQ(all.inspected.at(what), 3 * number) << what;
  for (const auto& [what, number] : one.compared) EXPECT_EQ(all.compared.at(what), 3 * number) << what;
}

TEST_F(Replicas, UnselectedAreNotCompared) {
  in_both(2, [](SyntheticRun& run) { tensor_row(run, 0, "gradient", "model.norm.weight").digest = other_digest; });
  CellPlan plan;
  plan.checks = {"gradients"};

  const CellVerdict cell = verdict(plan);

  EXPECT_TRUE(cell.holds) << comparison_text(cell);
  EXPECT_EQ(result_of(cell, "replicas").reason, "not requested in this case");
  EXPECT_FALSE(result_of(cell, "replicas").required);
}

TEST_F(Replicas, AFailedRankIsBlamedOnlyInItsPipeline) {
  candidates_[1].ranks[1].exit.reset();
  write();
  CellPlan plan;
  plan.launch = LaunchFinding{.exit_code = 137, .culprit_rank = 4, .words = "rank 4 was killed"};  // 1 of replica 1
  const auto of = [&](const char* replica) {
    const CellVerdict verdict = judge_cell(plan, reference_ / replica, candidate_ / replica);
    return result_of(verdict, "completion").first_divergence.value();
  };
  EXPECT_EQ(judge_cell(plan, reference_, candidate_).first_divergence->replica, 0) << "the launch was that of all";
  EXPECT_EQ(of("replica-0").rank, std::nullopt);
  EXPECT_EQ(of("replica-1").rank, 1);
}

TEST_F(Replicas, EachIsComparedWithItsOwnSecondRun) {
  write();
  for (std::int64_t replica = 0; replica < count; ++replica) {
    SyntheticRun again = candidates_[static_cast<std::size_t>(replica)];
    again.manifest["run_id"] = "again " + std::to_string(replica);
    for (ActionRow& row : again.rows(&RankRecord::actions)) row.end_ns += 1;
    if (replica == 1) tensor_row(again, 1, "moment1", "model.norm.weight").digest = other_digest;
    write_run(again, folder_ / "again" / ("replica-" + std::to_string(replica)));
  }
  CellPlan plan;
  plan.repeat = true;

  const CellVerdict cell = judge_cell(plan, reference_, candidate_, folder_ / "again");

  const auto& repeatability = result_of(cell, "repeatability");
  EXPECT_EQ(repeatability.outcome, Outcome::differs);
  EXPECT_EQ(repeatability.first_divergence->replica, 1);
  EXPECT_THAT(repeatability.reason,
              ::testing::StartsWith("replica 1: step 1, rank 1, moment1 model.norm.weight: differs between"));
}

TEST_F(Replicas, DifferencesNamePlaceAndBothDigests) {
  in_both(2, [](SyntheticRun& run) { tensor_row(run, 1, "gradient", "model.norm.weight").digest = other_digest; });

  const std::string right = tensor_row(candidates_[0], 1, "gradient", "model.norm.weight").digest;
  expect_finding(
      result_of(verdict(), "replicas").first_divergence.value(),
      {.step = 1, .stage = 1, .replica = 2, .item = "model.norm.weight", .expected = right, .got = other_digest});
}

TEST_F(Replicas, OfThreeDifferentTheFirstCountsAsCorrect) {
  for (const std::int64_t replica : {1, 2}) {
    const std::string digest(32, static_cast<char>('0' + replica));
    in_both(replica, [&](SyntheticRun& run) { tensor_row(run, 0, "gradient", "model.norm.weight").digest = digest; });
  }

  const auto result = result_of(verdict(), "replicas");

  EXPECT_EQ(result.first_divergence.value().replica, 1);
  EXPECT_THAT(result.reason, HasSubstr("replica 1 and replica 2 have other bits than replica 0"));
}

const std::string query = "model.layers.1.self_attn.q_proj.weight", down = "model.layers.1.mlp.down_proj.weight";

/// Of three tensors of a layer, the last of which stands behind the others in its table and is used between them.
void damage_a_layer(SyntheticRun& run, const std::string& kind) {
  for (const auto& name : {down, query, std::string("model.layers.1.post_attention_layernorm.weight")})
    tensor_row(run, 0, kind, name).digest = other_digest;
}

TEST_F(Replicas, TheFirstParameterOfTheModelIsReported) {
  in_both(1, [](SyntheticRun& run) { damage_a_layer(run, "parameter"); });
  EXPECT_EQ(result_of(verdict(), "replicas").first_divergence.value().item, query);
}

TEST_F(Replicas, TheFirstComputedGradientIsReported) {
  in_both(1, [](SyntheticRun& run) { damage_a_layer(run, "gradient"); });
  EXPECT_EQ(result_of(verdict(), "replicas").first_divergence.value().item, down);
}

TEST_F(Replicas, EveryTensorOfEachIsCompared) {
  EXPECT_EQ(result_of(verdict(), "replicas").compared.at("tensors"),
            2 * (std::ssize(candidates_[0].ranks[0].tensors) + std::ssize(candidates_[0].ranks[1].tensors)));
}

TEST_F(Replicas, OneStepOfTheSameDataInAnotherOrderIsSeenWithItsPlace) {
  in_both(2, [&](SyntheticRun& run) {
    const auto& other = (run.ranks.size() == 1 ? references_ : candidates_)[1];
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
      for (std::size_t m = 0; m < synthetic_microbatches; ++m) {
        const std::size_t from = synthetic_microbatches, end = 2 * synthetic_microbatches - 1;
        run.ranks[rank].microbatches[from + m].data_digest = other.ranks[rank].microbatches[end - m].data_digest;
      }
    }
    digest_data_again(run);
  });

  const auto result = result_of(verdict(), "replicas");

  expect_finding(result.first_divergence.value(), {.step = 1,
                                                   .replica = 2,
                                                   .item = "data",
                                                   .got = "the same",
                                                   .words = "replica 2 is fed the same microbatches as replica 1"});
  EXPECT_EQ(result.inspected.at("microbatches"), 3 * synthetic_microbatches * synthetic_steps);
}

TEST_F(Replicas, MissingDataDigestsAreNotCovered) {
  in_both(1, [](SyntheticRun& run) {
    for (auto& rank : run.ranks) {
      for (auto& row : rank.microbatches) row.data_digest.clear();
      rank.exit->data_digest.reset();
    }
  });

  const auto result = result_of(verdict(), "replicas");

  EXPECT_EQ(result.outcome, Outcome::holds) << result.reason;
  EXPECT_THAT(result.not_shown, ::testing::ElementsAre(HasSubstr("one of them lacks a data digest")));
  EXPECT_THAT(result.reason, Not(HasSubstr("fed the data of its place")));
}

TEST_F(Replicas, RecordsWithoutTensorsAreNotCompared) {
  for (auto* runs : {&references_, &candidates_}) {
    for (auto& run : *runs) run.manifest["level"] = "summary";
  }

  const auto result = result_of(verdict(), "replicas");

  EXPECT_EQ(result.outcome, Outcome::incomplete);
  EXPECT_EQ(result.reason, "a record of level summary has no tensors");
}

}  // namespace
}  // namespace plumbline::testing
