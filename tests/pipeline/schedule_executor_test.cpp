// SPDX-License-Identifier: BSD-3-Clause
// The schedule executor by itself, with two stages on one rank that only record their calls.
#include "pipeline/schedule_executor.hpp"

#include <ATen/ops/full.h>
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "pipeline/transport/threads_transport.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Notes = std::vector<std::string>;

/// Adds 1 to its input; halves gradients.
class NotingStage : public Stage {
 public:
  NotingStage(std::int64_t index, Notes& notes) : Stage(index, index == 1), notes_(notes) {}

  at::Tensor forward(const Pass& /*pass*/, std::int64_t /*step*/, std::int64_t microbatch, at::Tensor input) override {
    note("F", microbatch, input);
    return last() ? at::Tensor() : at::full({1}, 10.0 + static_cast<double>(microbatch));
  }
  at::Tensor backward(std::int64_t /*step*/, std::int64_t microbatch, at::Tensor gradient) override {
    note("B", microbatch, gradient);
    return first() ? at::Tensor() : at::full({1}, 20.0 + static_cast<double>(microbatch));
  }
  at::Tensor backward_input(std::int64_t /*step*/, std::int64_t microbatch, at::Tensor gradient) override {
    note("I", microbatch, gradient);
    return first() ? at::Tensor() : at::full({1}, 30.0 + static_cast<double>(microbatch));
  }
  void backward_weight(std::int64_t /*step*/, std::int64_t microbatch) override { note("W", microbatch, {}); }

 private:
  void note(const char* what, std::int64_t microbatch, const at::Tensor& taken) {
    std::string text = std::to_string(index()).append(what).append(std::to_string(microbatch));
    if (taken.defined()) text.append(" takes ").append(std::to_string(taken.item<int>()));
    notes_.push_back(std::move(text));
  }
  Notes& notes_;
};

class NotingObserver : public StepObserver {
 public:
  void action_began(const StepAction& action) override {
    notes.push_back("began " + action.text);
    indices.push_back(action.index);
  }
  void action_ended(const StepAction& action) override { notes.push_back("ended " + action.text); }
  void on_boundary(const BoundaryTensor& boundary, const at::Tensor& /*tensor*/) override {
    notes.push_back(
        std::string(boundary.side).append(" ").append(boundary.direction).append(" ").append(boundary.boundary));
  }
  Notes notes;
  std::vector<std::int64_t> indices;
};

ActionList list_of(const std::string& text) {
  ActionList list;
  std::string word;
  for (const char c : text + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      list.push_back(parse_action(word).value());
      word.clear();
    }
  }
  return list;
}

class ScheduleExecutorTest : public ::testing::Test {
 protected:
  ScheduleExecutorTest() : run_(load_run(testing::fixtures_path() + "/runs/quick.toml", std::nullopt)) {
    plan_.schedule.placement.chunks_per_rank = 2;
    plan_.stages = {{0, 3}, {3, 8}};
  }

  void execute(const std::string& list) {
    const auto transports = make_threads_transports(1, {});
    Group pipeline(*transports.front());
    RankParts parts{{}, {}, pipeline};
    for (const std::int64_t index : {0, 1}) parts.stages.push_back(std::make_unique<NotingStage>(index, done_));
    ScheduleExecutor(run_, plan_, parts, list_of(list), {run_.batches, seen_}).step(0);
    transports.front()->finish();
  }

  plumbline::Run run_;
  PipelinePlan plan_;
  Notes done_;
  NotingObserver seen_;
};

TEST_F(ScheduleExecutorTest, ExecutesTheListAndPassesOutputs) {
  execute("0F0 0F1 1F1 1F0 1B0 1I1 0I1 0B0 0W1 1W1");

  EXPECT_THAT(done_, ElementsAre("0F0", "0F1", "1F1 takes 11", "1F0 takes 10", "1B0", "1I1", "0I1 takes 31",
                                 "0B0 takes 20", "0W1", "1W1"));
}

TEST_F(ScheduleExecutorTest, NotifiesObserversOfActionsAndBoundaries) {
  execute("0F0 1F0 1B0 0B0");

  EXPECT_THAT(seen_.notes, ElementsAre("began 0F0", "ended 0F0", "began 1F0", "local forward layers.2", "ended 1F0",
                                       "began 1B0", "ended 1B0", "began 0B0", "local backward layers.2", "ended 0B0"));
  EXPECT_THAT(seen_.indices, ElementsAre(0, 1, 2, 3));
}

TEST_F(ScheduleExecutorTest, NamesAnActionBeforeItsInput) {
  EXPECT_THAT(testing::error_of<std::logic_error>([&] { execute("0F0 1F1"); }), HasSubstr("1F1 precedes"));
  EXPECT_THAT(testing::error_of<std::logic_error>([&] { execute("0F0 1F0 0B0"); }), HasSubstr("0B0 precedes"));
}

TEST_F(ScheduleExecutorTest, NamesAStageOfAnotherRank) {
  EXPECT_THAT(testing::error_of<std::logic_error>([&] { execute("2F0"); }), HasSubstr("stage 2"));
}

}  // namespace
}  // namespace plumbline
