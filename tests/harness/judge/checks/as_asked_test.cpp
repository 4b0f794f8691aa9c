// as_asked: every field of a request, held against a run that did something else, and a run of the same that holds.
#include <gmock/gmock.h>

#include <functional>

#include "support/hash.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

/// What must have been asked for where all is right.
Request request_of(const SyntheticRun& run) {
  const Json& manifest = run.manifest;
  Request request;
  request.role = manifest.at("role").get<std::string>();
  request.world_size = manifest.at("world_size").get<std::int64_t>();
  request.schedule =
      RequestedSchedule{manifest.at("schedule").at("name").get<std::string>(), 1, hash_hex(run.schedule_csv)};
  request.stages.emplace();
  for (const Json& stage : manifest.at("stages")) {
    request.stages->push_back({stage.at("stage").get<std::int64_t>(), stage.at("rank").get<std::int64_t>(),
                               stage.at("units").get<std::vector<std::string>>()});
  }
  request.model_digest = model_digest(manifest.at("model"));
  request.seed = manifest.at("seed").get<std::uint64_t>();
  request.dtype = "float32";
  request.optimizer = manifest.at("optimizer");
  request.clip_norm = 1.0;
  request.steps = synthetic_steps;
  request.microbatches.emplace();
  for (const std::int64_t length : {3, 1, 4, 3, 2}) request.microbatches->push_back({{length}, length == 2});
  request.accumulation_digest = "";
  request.device = "cpu";
  request.level = "full";
  return request;
}

struct AskedCell : SyntheticCell {
  AskedCell() {
    plan.request = request_of(candidate);
    plan.reference_request = request_of(reference);
  }
};

TEST(AsAsked, HoldsWhereWhatRanIsWhatWasAskedFor) {
  AskedCell cell;

  const auto& result = result_of(cell.judge(), "as_asked");

  EXPECT_EQ(result.outcome, Outcome::holds) << result.reason;
  EXPECT_EQ(result.requirement, Requirement::required);
}

TEST(AsAsked, DoesNotApplyWhereNobodySaidWhatWasAskedFor) {
  SyntheticCell cell;

  EXPECT_EQ(result_of(cell.judge(), "as_asked").outcome, Outcome::not_applicable);
}

struct Otherwise {
  const char* item;  ///< of the first divergence
  std::function<void(Request&)> ask;
};

class AskedOtherwise : public ::testing::TestWithParam<Otherwise> {};

TEST_P(AskedOtherwise, IsRedThereAndFirst) {
  AskedCell cell;
  GetParam().ask(*cell.plan.request);

  const auto verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "as_asked").outcome, Outcome::fails);
  ASSERT_TRUE(verdict.first_divergence);
  EXPECT_EQ(verdict.first_divergence->rung, "as_asked");
  EXPECT_EQ(verdict.first_divergence->item, GetParam().item);
  EXPECT_THAT(verdict.first_divergence->words, ::testing::HasSubstr("the candidate"));
}

TEST_P(AskedOtherwise, IsRedWhateverChecksWereAskedFor) {
  AskedCell cell;
  GetParam().ask(*cell.plan.request);
  cell.plan.checks = {"completion"};

  EXPECT_FALSE(cell.judge().holds);
}

INSTANTIATE_TEST_SUITE_P(
    EveryField, AskedOtherwise,
    ::testing::Values(
        Otherwise{"role", [](Request& r) { r.role = "external"; }},
        Otherwise{"world_size", [](Request& r) { r.world_size = 8; }},
        Otherwise{"schedule.name", [](Request& r) { r.schedule->name = "afab"; }},
        Otherwise{"schedule.chunks_per_rank", [](Request& r) { r.schedule->chunks_per_rank = 2; }},
        Otherwise{"schedule.digest", [](Request& r) { r.schedule->digest = other_digest; }},
        Otherwise{"stages",
                  [](Request& r) {
                    r.stages->at(0).units.push_back("layers.1");
                    r.stages->at(1).units.erase(r.stages->at(1).units.begin());
                  }},
        Otherwise{"stages", [](Request& r) { r.stages->at(1).rank = 0; }},
        Otherwise{"model_digest", [](Request& r) { r.model_digest = other_digest; }},
        Otherwise{"seed", [](Request& r) { r.seed = 77; }},
        Otherwise{"dtype", [](Request& r) { r.dtype = "bfloat16"; }},
        Otherwise{"optimizer.name", [](Request& r) { (*r.optimizer)["name"] = "sgd"; }},
        Otherwise{"optimizer.learning_rate", [](Request& r) { (*r.optimizer)["learning_rate"] = 0.5; }},
        Otherwise{"optimizer.beta1", [](Request& r) { (*r.optimizer)["beta1"] = 0.5; }},
        Otherwise{"optimizer.beta2", [](Request& r) { (*r.optimizer)["beta2"] = 0.5; }},
        Otherwise{"optimizer.eps", [](Request& r) { (*r.optimizer)["eps"] = 0.5; }},
        Otherwise{"optimizer.weight_decay", [](Request& r) { (*r.optimizer)["weight_decay"] = 0.5; }},
        Otherwise{"clip_norm", [](Request& r) { r.clip_norm = 2.0; }},
        Otherwise{"clip_norm", [](Request& r) { r.clip_norm = Json(nullptr); }},
        Otherwise{"steps", [](Request& r) { r.steps = 3; }},
        Otherwise{"data.microbatches",
                  [](Request& r) {
                    r.microbatches->push_back({{1}, false});
                  }},
        Otherwise{"batch of microbatch 1",
                  [](Request& r) {
                    r.microbatches->at(1).lengths = {1, 1};
                  }},
        Otherwise{"sequence_length of microbatch 2", [](Request& r) { r.microbatches->at(2).lengths = {5}; }},
        Otherwise{"valid_tokens of microbatch 0", [](Request& r) { r.microbatches->at(0).masked = true; }},
        Otherwise{"accumulation_digest", [](Request& r) { r.accumulation_digest = other_digest; }},
        Otherwise{"device", [](Request& r) { r.device = "cuda"; }},
        Otherwise{"recompute", [](Request& r) { r.recompute = "layer"; }},
        Otherwise{"transport", [](Request& r) { r.transport = "nccl"; }},
        Otherwise{"level", [](Request& r) { r.level = "dump"; }}));

TEST(AsAsked, IsRedWhereBothTrainersDidTheSameOtherThing) {
  AskedCell cell;
  cell.plan.request->dtype = cell.plan.reference_request->dtype = "bfloat16";

  const auto verdict = cell.judge();

  EXPECT_EQ(result_of(verdict, "as_asked").outcome, Outcome::fails);
  EXPECT_THAT(verdict.first_divergence->words, ::testing::HasSubstr("the reference"));
}

/// Warm-up from half of the rate over both steps, and the rates that both runs record.
CellVerdict judged_with_rates(double first, double second) {
  AskedCell cell;
  for (auto* request : {&*cell.plan.request, &*cell.plan.reference_request}) {
    (*request->optimizer)["learning_rate"] = 1.0;
    request->learning_rate_schedule = Json{{"total_steps", synthetic_steps},
                                           {"warmup_steps", synthetic_steps},
                                           {"start_factor", 0.5},
                                           {"final_factor", 0}};
  }
  for (auto* run : {&cell.candidate, &cell.reference}) {
    run->manifest["optimizer"]["learning_rate"] = 1.0;
    run->manifest["learning_rate_schedule"] = *cell.plan.request->learning_rate_schedule;
    for (auto& rank : run->ranks) rank.steps[0].learning_rate = first, rank.steps[1].learning_rate = second;
  }
  return cell.judge();
}

TEST(AsAsked, ARateThatIsAStepEarlyInBothRecordsIsRed) {
  EXPECT_EQ(result_of(judged_with_rates(0.5, 0.75), "as_asked").outcome, Outcome::holds);

  const auto verdict = judged_with_rates(0.75, 1.0);

  EXPECT_EQ(result_of(verdict, "as_asked").outcome, Outcome::fails);
  EXPECT_EQ(verdict.first_divergence->item, "learning_rate");
}

TEST(AsAsked, RanksAreCountedByTheirFoldersNotByTheManifestsWord) {
  AskedCell cell;  // a launcher that started half of the ranks, and a manifest that says it started all
  cell.candidate.ranks.pop_back();

  EXPECT_FALSE(cell.judge().holds);
}

TEST(AsAsked, ARunThatLeftNoRecordIsNotRunAndHoldsNothing) {
  AskedCell cell;
  const auto reference = cell.write_reference();

  const auto verdict = judge_cell(cell.plan, reference, cell.folder / "nothing");

  EXPECT_EQ(result_of(verdict, "as_asked").outcome, Outcome::not_run);
  EXPECT_FALSE(verdict.holds);
}

TEST(AsAsked, WhatAppliesIsDecidedFromTheRequestNotFromTheCandidatesWords) {
  AskedCell cell;  // four stages of which one is empty were asked for; two ran
  const auto asked = with_empty_stage();
  cell.plan.request->stages.emplace();
  for (std::size_t i = 0; i < asked.stages.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    cell.plan.request->stages->push_back({number, number, asked.stages[i]});
  }

  EXPECT_NE(result_of(cell.judge(), "empty_partitions").outcome, Outcome::not_applicable);
}

}  // namespace
}  // namespace plumbline::testing
