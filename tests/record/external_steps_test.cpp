// SPDX-License-Identifier: BSD-3-Clause
// The tables of an external trainer's steps, and the calls that it must not make.
#include <gmock/gmock.h>

#include <chrono>
#include <functional>
#include <thread>

#include "record/digest.hpp"
#include "record/progress_page.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "tests/record/external_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::ThrowsMessage;

/// Returns after the clock of records has advanced.
void let_time_pass() {
  const auto begun = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begun < std::chrono::microseconds(1)) continue;
}

class ExternalSteps : public ::testing::Test {
 protected:
  Record read() const { return read_record(path_); }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "record";
};

TEST_F(ExternalSteps, AddsLossesInMicrobatchOrder) {
  ExternalRun run = external_run();
  run.microbatches = 3;
  {
    ExternalRecord record(path_, run);
    record.begin_step(0.1);
    for (const std::int64_t valid : {5, 6, 7}) record.microbatch({2, 4, valid, ""});
    record.loss(2, -1e8F);
    record.loss(1, 1);
    record.loss(0, 1e8F);
    record.end_step();
  }

  const RankRecord rank = read().ranks[0];

  EXPECT_EQ(rank.steps.at(0).loss, 0.0F) << "1e8 swallows the 1";
  EXPECT_EQ(rank.steps[0].tokens, 24);
  EXPECT_EQ(rank.steps[0].valid_tokens, 18);
  ASSERT_EQ(rank.microbatches.size(), 3U);
  EXPECT_EQ(rank.microbatches[0].loss, 1e8F);
  EXPECT_EQ(rank.microbatches[1].loss, 1.0F);
  EXPECT_EQ(rank.microbatches[2].valid_tokens, 7);
  EXPECT_EQ(rank.microbatches[2].tokens, 8);
}

TEST_F(ExternalSteps, AStepStartsEmpty) {
  ExternalRun run = external_run();
  run.steps = 2;
  {
    ExternalRecord record(path_, run);
    record.begin_step(0.25);
    record.norm(3, 0.5);
    record.end_action(record.begin_action(0, "STEP"));
    complete_external_step(record);
    record.begin_step(0.125);
    record.microbatch({1, 1, 1, ""});
    EXPECT_THAT([&] { record.end_step(); }, ThrowsMessage<InputError>(HasSubstr("no loss was recorded")));
    record.loss(0, 7);
    record.end_step();
  }

  const RankRecord rank = read().ranks[0];

  ASSERT_EQ(rank.steps.size(), 2U);
  EXPECT_EQ(rank.steps[0].gradient_norm, 3);
  EXPECT_EQ(rank.steps[0].clip_coefficient, 0.5);
  EXPECT_EQ(rank.steps[0].learning_rate, 0.25);
  EXPECT_FALSE(rank.steps[1].gradient_norm || rank.steps[1].clip_coefficient);
  EXPECT_EQ(rank.steps[1].learning_rate, 0.125);
  EXPECT_EQ(rank.steps[1].tokens, 1);
  EXPECT_EQ(rank.steps[1].loss, 7.0F);
  EXPECT_EQ(rank.actions.size(), 1U);
}

TEST_F(ExternalSteps, SecondsMeasureOnlyTheStep) {
  double outside = 0;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  {
    ExternalRecord record(path_, external_run());
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // before the step, so not part of it
    const auto begun = now();
    record.begin_step(0.1);
    let_time_pass();
    complete_external_step(record);
    outside = std::chrono::duration<double>(now() - begun).count();
  }

  const double seconds = read().ranks[0].steps.at(0).seconds.value();

  EXPECT_GT(seconds, 0);
  EXPECT_LE(seconds, outside);
}

TEST_F(ExternalSteps, DataDigestCoversTheDataInOrder) {
  ExternalRun run = external_run();
  run.microbatches = 3;
  const std::string first = microbatch_of_rows(1, {external_tensor}).digest, second = std::string(32, 'a');
  {
    ExternalRecord record(path_, run);
    record.begin_step(0.1);
    record.microbatch({1, 1, 1, first});
    record.microbatch({1, 1, 1, second});
    record.microbatch({1, 1, 1, ""});
    for (const std::int64_t microbatch : {0, 1, 2}) record.loss(microbatch, 1);
    record.end_step();
  }

  const RankRecord rank = read().ranks[0];

  EXPECT_EQ(rank.microbatches.at(0).data_digest, first);
  EXPECT_EQ(rank.exit.value().data_digest, hash_hex(first + second));
}

TEST_F(ExternalSteps, ARankWithoutDataHasNoDigestAndNoTraffic) {
  const RankRecord rank = external_rows(external_run(), 0, [](ExternalRecord&) {});

  EXPECT_EQ(rank.microbatches.at(0).data_digest, "");
  EXPECT_FALSE(rank.exit.value().data_digest);
  EXPECT_THAT(rank.absent, Contains("traffic.csv"));
}

TEST_F(ExternalSteps, WritesNoTensorsIfNoneAreRecorded) {
  ExternalRun run = external_run();
  run.tensors = false;

  const RankRecord rank = external_rows(run, 0, [](ExternalRecord& record) {
    record.gradient(0, "weight", external_tensor);
    record.computed("b", false, 0, external_tensor);
  });

  EXPECT_THAT(rank.absent, Contains("tensors.csv"));
  EXPECT_THAT(rank.absent, Contains("boundaries.csv"));
}

TEST_F(ExternalSteps, WritesTheStartBeforeTheFirstStepEnds) {
  ExternalRecord record(path_, external_run());
  record.initial_parameter(0, "weight", external_tensor);
  EXPECT_THAT(bytes_of(path_ / "rank-0/tensors.csv"), Not(HasSubstr("weight")));

  record.begin_step(0.1);

  EXPECT_THAT(bytes_of(path_ / "rank-0/tensors.csv"), HasSubstr("-1,parameter,weight,0,"));
}

TEST_F(ExternalSteps, MomentsMayFollowAStep) {
  const RankRecord rank = external_rows(external_run(), 0, [](ExternalRecord& record) {
    for (const char* kind : {"parameter", "moment1", "moment2"}) record.after_step(kind, 0, "weight", external_tensor);
  });

  std::vector<std::string> kinds;
  for (const TensorRow& row : rank.tensors) kinds.push_back(row.kind);
  EXPECT_THAT(kinds, ElementsAre("parameter", "moment1", "moment2"));
}

TEST_F(ExternalSteps, WritesActionsInOrderWithTheirTimes) {
  const RankRecord rank = external_rows(external_run({{0, {"a"}}, {1, {"b"}}}), 1, [](ExternalRecord& record) {
    const auto receives = record.begin_action(1, "RECV_F", 0, 0);
    let_time_pass();
    record.end_action(receives);
    const auto computes = record.begin_action(1, "F", 0);
    let_time_pass();
    record.end_action(computes);
    record.end_action(record.begin_action(1, "STEP"));
  });

  ASSERT_EQ(rank.actions.size(), 3U);
  const ActionRow &receives = rank.actions[0], &computes = rank.actions[1], &last = rank.actions[2];
  EXPECT_EQ(receives.action, "1RECV_F0");
  EXPECT_EQ(receives.microbatch, 0);
  EXPECT_GT(receives.start_ns, 0);
  EXPECT_GT(receives.end_ns, receives.start_ns);
  EXPECT_EQ(receives.wait_ns, receives.end_ns - receives.start_ns);
  EXPECT_EQ(computes.index, 1);
  EXPECT_GE(computes.start_ns, receives.end_ns);
  EXPECT_GT(computes.end_ns, computes.start_ns);
  EXPECT_EQ(computes.wait_ns, 0);
  EXPECT_EQ(last.action, "1STEP");
  EXPECT_EQ(last.stage, 1);
  EXPECT_FALSE(last.microbatch);
}

TEST_F(ExternalSteps, HeartbeatFollowsTheRank) {
  ExternalRun run = external_run();
  run.steps = 2;
  ExternalRecord record(path_, run);
  const auto page = [&] { return read_progress(path_ / "rank-0/progress").value(); };
  record.begin_step(0.1);
  complete_external_step(record);
  EXPECT_EQ(page().step, 0);

  record.begin_step(0.1);
  EXPECT_EQ(page().step, 1);
  EXPECT_EQ(page().action, "");
  const auto action = record.begin_action(0, "RECV_F", 3, 2);
  EXPECT_EQ(page().step, 1);
  EXPECT_EQ(page().action, "0RECV_F3");
  EXPECT_EQ(page().action_index, 0);
  EXPECT_EQ(page().peer, 2);
  EXPECT_EQ(page().microbatch, 3);
  record.end_action(action);
  EXPECT_EQ(page().action, "0RECV_F3");
  EXPECT_EQ(page().peer, -1) << "it no longer waits";
}

TEST_F(ExternalSteps, RefusesCallsOfAStepOutsideOfAStep) {
  const std::vector<std::pair<std::string, std::function<void(ExternalRecord&)>>> calls = {
      {"microbatch",
       [](ExternalRecord& record) {
         record.microbatch({1, 1, 1, ""});
       }},
      {"loss", [](ExternalRecord& record) { record.loss(0, 1); }},
      {"a boundary", [](ExternalRecord& record) { record.computed("b", false, 0, external_tensor); }},
      {"a boundary", [](ExternalRecord& record) { record.sent(0, 9, 0, external_tensor); }},
      {"an action", [](ExternalRecord& record) { record.begin_action(0, "F", 0); }},
      {"an action", [](ExternalRecord& record) { record.end_action(0); }},
      {"a gradient", [](ExternalRecord& record) { record.gradient(0, "weight", external_tensor); }},
      {"norm", [](ExternalRecord& record) { record.norm(1, 1); }},
      {"moment1", [](ExternalRecord& record) { record.after_step("moment1", 0, "weight", external_tensor); }},
      {"end_step", [](ExternalRecord& record) { record.end_step(); }}};
  ExternalRun run = external_run();
  run.steps = 2;
  ExternalRecord record(path_, run);
  record.begin_step(0.1);
  record.begin_action(0, "F", 0);
  complete_external_step(record);

  for (const auto& [name, call] : calls)
    EXPECT_EQ(error_of<std::logic_error>([&, &call_record = call] { call_record(record); }),
              name + " must be recorded between begin_step and end_step");
}

TEST_F(ExternalSteps, RefusesTooManyStepsAndALateStart) {
  ExternalRecord record(path_, external_run());
  record.begin_step(0.1);
  complete_external_step(record);

  EXPECT_THAT([&] { record.begin_step(0.1); }, ThrowsMessage<std::logic_error>(HasSubstr("made for 1 steps")));
  EXPECT_THAT([&] { record.initial_parameter(0, "weight", external_tensor); },
              ThrowsMessage<std::logic_error>(HasSubstr("before the first step")));
}

TEST_F(ExternalSteps, RefusesLossesOfOtherMicrobatches) {
  for (const std::vector<std::int64_t>& microbatches :
       {std::vector<std::int64_t>{0}, {0, 2}, {-1, 2}, {0, 3, 1}, {-1, 0, 2}}) {
    const TemporaryFolder folder;
    ExternalRun run = external_run();
    run.microbatches = 3;
    ExternalRecord record(folder / "record", run);
    record.begin_step(0.1);
    for (int i = 0; i < 3; ++i) record.microbatch({1, 1, 1, ""});
    for (const std::int64_t microbatch : microbatches) record.loss(microbatch, 1);

    EXPECT_THAT([&] { record.end_step(); }, ThrowsMessage<InputError>(HasSubstr("losses of")))
        << ::testing::PrintToString(microbatches);
  }
}

TEST_F(ExternalSteps, AStepThatClipsNeedsANorm) {
  ExternalRun run = external_run();
  run.clip_norm = 1;
  ExternalRecord record(path_, run);
  record.begin_step(0.1);
  record.microbatch({1, 1, 1, ""});
  record.loss(0, 1);
  EXPECT_THAT([&] { record.end_step(); }, ThrowsMessage<InputError>(HasSubstr("no norm was recorded")));

  record.norm(2, 0.5);
  record.end_step();
  EXPECT_EQ(read().ranks[0].steps.at(0).clip_coefficient, 0.5);
}

TEST_F(ExternalSteps, RefusesMissingDataAndNegativeSizesButNotEmptyTensors) {
  ExternalRecord record(path_, external_run());
  record.begin_step(0.1);

  EXPECT_THAT(
      [&] {
        record.gradient(0, "weight", {"float32", {2}, nullptr});
      },
      ThrowsMessage<InputError>(HasSubstr("a tensor without data")));
  EXPECT_THAT(
      [&] {
        record.gradient(0, "weight", {"float32", {-1, -2}, external_values.data()});
      },
      ThrowsMessage<InputError>(HasSubstr("a tensor with a dimension of -1")));
  EXPECT_NO_THROW(record.gradient(0, "weight", {"float32", {0}, nullptr}));
}

TEST_F(ExternalSteps, OnlyTheNewOwnerOfAMovedRecordEndsIt) {
  std::optional<ExternalRecord> first(std::in_place, path_, external_run());
  ExternalRecord second = std::move(*first);
  first.reset();
  EXPECT_FALSE(std::filesystem::exists(path_ / "rank-0/exit.json"));

  second.begin_step(0.1);
  complete_external_step(second);

  EXPECT_EQ(read().ranks[0].steps.size(), 1U);
}

TEST(ExternalMicrobatch, DigestCoversIdsAndLabelsInTheBatchsShape) {
  const std::array<std::int64_t, 4> ids{1, 2, 3, 4}, labels{2, -1, -100, -101};
  const std::array<std::int64_t, 8> both{1, 2, 3, 4, 2, -1, -100, -101};

  const auto fed = microbatch_of_tokens(2, 2, ids.data(), labels.data());

  EXPECT_EQ(fed.digest, tensor_digest("int64", {2, 2, 2}, std::as_bytes(std::span(both))));
  EXPECT_EQ(fed.batch, 2);
  EXPECT_EQ(fed.sequence_length, 2);
  EXPECT_EQ(fed.valid_tokens, 3) << "only -100 is ignored, not another trainer's value";
}

TEST(ExternalMicrobatch, DigestOfRowsCoversAllDataAndIsAbsentWithoutData) {
  const std::array<float, 2> others{3, 4};
  const TensorView other{"float32", {1, 2}, others.data()};
  const std::string one = tensor_digest("float32", {1, 2}, std::as_bytes(std::span(external_values)));
  const std::string two = tensor_digest("float32", {1, 2}, std::as_bytes(std::span(others)));

  EXPECT_EQ(microbatch_of_rows(1, {external_tensor, other}).digest, hash_hex(one + two));
  EXPECT_EQ(microbatch_of_rows(4, {}).digest, "");
  EXPECT_EQ(microbatch_of_rows(4, {}).valid_tokens, 4);
}

}  // namespace
}  // namespace plumbline::testing
