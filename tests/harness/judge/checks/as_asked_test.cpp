// SPDX-License-Identifier: BSD-3-Clause
// as_asked: every field of a request, compared with a run that differs and with one that matches.
#include <gmock/gmock.h>

#include <functional>
#include <ostream>

#include "tests/harness/judge/checks/requested_cell.hpp"

namespace plumbline::testing {
namespace {

TEST(AsAsked, HoldsIfTheRunMatchesItsRequest) {
  RequestedCell asked;
  SyntheticCell not_requested;
  EXPECT_TRUE(expect_outcome(asked, "as_asked", Outcome::holds).required);
  EXPECT_EQ(result_of(not_requested.judge(), "as_asked").outcome, Outcome::does_not_apply);
}

struct Otherwise {
  const char* item;  ///< of the first divergence
  std::function<void(Request&)> ask;
};

void PrintTo(const Otherwise& other, std::ostream* out) {
  *out << other.item;
}

class AskedOtherwise : public ::testing::TestWithParam<Otherwise> {};

TEST_P(AskedOtherwise, FailsThereAndFirst) {
  RequestedCell cell;
  GetParam().ask(*cell.plan.request);

  const auto verdict = cell.judge();

  EXPECT_EQ(result_of(verdict, "as_asked").outcome, Outcome::differs);
  expect_finding(verdict.first_divergence.value(),
                 {.level = "as_asked", .item = GetParam().item, .words = "the candidate"});
}

TEST(AsAsked, FailsWithAnySelectionOfChecks) {
  RequestedCell cell;
  cell.plan.request->seed = 77;
  cell.plan.checks = {"completion"};

  EXPECT_FALSE(cell.judge().holds);
}

INSTANTIATE_TEST_SUITE_P(
    EveryField, AskedOtherwise,
    ::
        testing::Values(Otherwise{"role", [](Request& r) { r.role = "external"; }},
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
                        Otherwise{"first_step", [](Request& r) { r.first_step = 1; }},
                        Otherwise{"data.microbatches",
                                  [](Request& r) {
                                    r.microbatches.reset();
                                    r.microbatch_count = 4;
                                  }},
                        Otherwise{"data.microbatches",
                                  [](Request& r) {
                                    r.microbatches->push_back({{1}, false});
                                  }},
                        Otherwise{
                            "batch of microbatch 1",
                            [](Request& r) {
                              r.microbatches->at(1).lengths = {1, 1};
                            }},
                        Otherwise{"sequence_length of microbatch 2",
                                  [](Request& r) { r.microbatches->at(2).lengths = {5}; }},
                        Otherwise{"valid_tokens of microbatch 0",
                                  [](Request& r) { r.microbatches->at(0).masked = true; }},
                        Otherwise{"accumulation_digest", [](Request& r) { r.accumulation_digest = other_digest; }},
                        Otherwise{"device", [](Request& r) { r.device = "cuda"; }},
                        Otherwise{"recompute", [](Request& r) { r.recompute = "layer"; }},
                        Otherwise{"transport", [](Request& r) { r.transport = "nccl"; }},
                        Otherwise{"level", [](Request& r) { r.level = "dump"; }}));

TEST(AsAsked, ComparesIntegersAsIntegers) {
  constexpr std::int64_t large = (std::int64_t{1} << 53) + 1;
  for (const std::int64_t ran : {large, large - 1}) {
    RequestedCell cell;
    cell.plan.request->seed = cell.plan.reference_request->seed = large;
    for (auto* run : {&cell.reference, &cell.candidate}) run->manifest["seed"] = ran;

    EXPECT_EQ(result_of(cell.judge(), "as_asked").outcome, ran == large ? Outcome::holds : Outcome::differs) << ran;
  }
}

TEST(AsAsked, FailsIfBothTrainersDeviateAlike) {
  RequestedCell cell;
  cell.plan.request->dtype = cell.plan.reference_request->dtype = "bfloat16";

  const auto verdict = cell.judge();

  EXPECT_EQ(result_of(verdict, "as_asked").outcome, Outcome::differs);
  EXPECT_THAT(verdict.first_divergence->words, ::testing::HasSubstr("the reference"));
}

/// Warm-up from half of the rate over both steps, and the rates that both runs record; where the candidate is external,
/// it alone.
CellVerdict judged_with_rates(double first, double second, const std::string& role = "pipeline") {
  RequestedCell cell;
  cell.candidate.manifest["role"] = *(cell.plan.request->role = role);
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
    const bool right = role == "external" && run == &cell.reference;
    for (auto& rank : run->ranks) {
      rank.steps[0].learning_rate = right ? 0.5 : first;
      rank.steps[1].learning_rate = right ? 0.75 : second;
    }
  }
  return cell.judge();
}

TEST(AsAsked, ARateThatIsAStepEarlyInBothRecordsFails) {
  EXPECT_EQ(result_of(judged_with_rates(0.5, 0.75), "as_asked").outcome, Outcome::holds);

  const auto verdict = judged_with_rates(0.75, 1.0);

  EXPECT_EQ(result_of(verdict, "as_asked").outcome, Outcome::differs);
  EXPECT_EQ(verdict.first_divergence->item, "learning_rate");
}

TEST(AsAsked, ExternalRatesMayDifferByTheRoundingOfACosine) {
  const double five_ulp_off = 0.5 + 5 * 0x1p-53;  // beyond a relative 1e-15, within the rounding of a cosine besides

  EXPECT_EQ(result_of(judged_with_rates(five_ulp_off, 0.75), "as_asked").outcome, Outcome::differs);
  const auto others = result_of(judged_with_rates(five_ulp_off, 0.75, "external"), "as_asked");
  EXPECT_EQ(others.outcome, Outcome::holds) << others.reason;
  EXPECT_EQ(result_of(judged_with_rates(0.5 + 6 * 0x1p-53, 0.75, "external"), "as_asked").outcome, Outcome::differs);
}

TEST(AsAsked, EachNumberOfTheRateScheduleMustMatchTheManifest) {
  for (const char* key : {"total_steps", "warmup_steps", "start_factor", "final_factor"}) {
    RequestedCell cell;
    cell.candidate.manifest["learning_rate_schedule"] = {
        {"total_steps", 2}, {"warmup_steps", 0}, {"start_factor", 1.0}, {"final_factor", 1.0}};
    cell.plan.request->learning_rate_schedule = cell.candidate.manifest["learning_rate_schedule"];
    (*cell.plan.request->learning_rate_schedule)[key] = 0.25;

    expect_fails(cell, "as_asked", {.item = std::string("learning_rate_schedule.") + key});
  }
}

TEST(AsAsked, AnOptimizerWithoutDecayKeyDecaysAll) {
  RequestedCell cell;
  (*cell.plan.request->optimizer)["decay"] = "all";
  EXPECT_EQ(result_of(cell.judge(), "as_asked").outcome, Outcome::holds);

  RequestedCell other;
  (*other.plan.request->optimizer)["decay"] = "matrices";
  expect_fails(other, "as_asked", {.item = "optimizer.decay"});

  RequestedCell lacking;  // a number that the manifest does not tell is not what was asked for
  (*lacking.plan.request->optimizer)["momentum"] = 0.9;
  expect_fails(lacking, "as_asked", {.item = "optimizer.momentum"});
}

TEST(AsAsked, ThreadsMustMatchTheManifest) {
  RequestedCell cell;
  cell.plan.request->threads = 2;
  cell.candidate.manifest.erase("threads");
  EXPECT_EQ(result_of(cell.judge(), "as_asked").outcome, Outcome::holds);

  RequestedCell other;
  other.plan.request->threads = 2;
  other.candidate.manifest["threads"] = 1;
  expect_fails(other, "as_asked", {.item = "threads"});
}

TEST(AsAsked, NamesKeysThatWereNotRequestedExceptTheOtherRoles) {
  RequestedCell cell;
  cell.plan.reference_request.emplace().role = "reference";
  cell.plan.request.emplace().role = "pipeline";

  const std::string reason = result_of(cell.judge(), "as_asked").reason;

  for (const char* key : {"model_digest", "seed", "optimizer", "steps", "device"}) {
    EXPECT_THAT(reason, ::testing::HasSubstr(std::string("the reference ") + key));
    EXPECT_THAT(reason, ::testing::HasSubstr(std::string("the candidate ") + key));
  }
  for (const char* key : {"the reference schedule", "the reference stages", "the reference transport",
                          "the candidate accumulation_digest"}) {
    EXPECT_THAT(reason, ::testing::Not(::testing::HasSubstr(key)));
  }
  for (const char* key : {"the candidate schedule", "the candidate stages", "the candidate transport",
                          "the reference accumulation_digest"}) {
    EXPECT_THAT(reason, ::testing::HasSubstr(key));
  }
}

TEST(AsAsked, RanksAreCountedByTheirFolders) {
  RequestedCell cell;  // a launcher that started half of the ranks, and a manifest that says it started all
  cell.candidate.ranks.pop_back();

  const auto verdict = cell.judge();

  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(result_of(verdict, "completion").first_divergence->rank, 1);
}

TEST(AsAsked, IsIncompleteWithoutARecord) {
  RequestedCell cell;
  const auto reference = cell.write_reference();

  const auto verdict = judge_cell(cell.plan, reference, cell.folder / "nothing");

  EXPECT_EQ(result_of(verdict, "as_asked").outcome, Outcome::incomplete);
  EXPECT_FALSE(verdict.holds);
}

}  // namespace
}  // namespace plumbline::testing
