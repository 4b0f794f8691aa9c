// SPDX-License-Identifier: BSD-3-Clause
// data_vectors_test.cpp compares ids and labels with the documented ones.
#include "training/batch_plan.hpp"

#include <gmock/gmock.h>

#include <numeric>
#include <set>

#include "record/digest.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "tests/temporary_folder.hpp"
#include "training/memory_meter.hpp"
#include "training/microbatch.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

DataSettings data_of(std::vector<std::vector<std::int64_t>> row_lengths, std::vector<std::int64_t> masked = {}) {
  DataSettings data;
  data.text = "story.txt";
  data.seed = 7;
  data.row_lengths = std::move(row_lengths);
  data.masked = std::move(masked);
  return data;
}

/// 0, 1, 2, ...: each token is its own position.
Tokens counting(std::int32_t count) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(count));
  std::iota(tokens.begin(), tokens.end(), 0);
  return Tokens(std::move(tokens));
}

std::vector<std::int64_t> integers_of(const at::Tensor& tensor) {
  const auto* data = tensor.const_data_ptr<std::int64_t>();
  return {data, data + tensor.numel()};
}

std::int64_t start_of(const DataSettings& data, std::int64_t tokens) {
  return static_cast<std::int64_t>(hash64("data/" + std::to_string(data.seed)) % static_cast<std::uint64_t>(tokens));
}

TEST(BatchPlan, APartNumbersItsMicrobatchesFromZeroAndKeepsTheStep) {
  const BatchPlan whole(data_of({{3, 3}, {1, 1}, {5}, {2}}, {2}), counting(1000));
  const BatchPlan part = whole.part(1, 2);

  EXPECT_EQ(part.microbatches(), 2);
  for (std::int64_t microbatch = 0; microbatch < 2; ++microbatch) {
    const Microbatch own = part.make(3, microbatch), same = whole.make(3, 2 + microbatch);
    EXPECT_EQ(integers_of(own.ids), integers_of(same.ids));
    EXPECT_EQ(integers_of(own.labels), integers_of(same.labels));
    EXPECT_EQ(part.tokens(microbatch), whole.tokens(2 + microbatch));
    EXPECT_EQ(part.valid_tokens(3, microbatch), whole.valid_tokens(3, 2 + microbatch));
    EXPECT_EQ(part.batch(microbatch), whole.batch(2 + microbatch));
    EXPECT_EQ(part.sequence_length(microbatch), whole.sequence_length(2 + microbatch));
  }
  EXPECT_EQ(part.step_tokens(), whole.step_tokens());
  EXPECT_EQ(part.step_valid_tokens(3), whole.step_valid_tokens(3));
  EXPECT_EQ(part.live_tokens(1), whole.live_tokens(1));
  EXPECT_EQ(part.longest_sequence(), 5);
  EXPECT_EQ(part.part(0, 2).sequence_length(0), 3) << "a part of the whole";
}

TEST(BatchPlan, TotalsCountTokensValidTokensAndLiveIds) {
  const DataSettings data = data_of({{4, 2}, {3, 3}, {1, 1}}, {1});
  const Tokens tokens(std::vector<std::int32_t>{5, 6, 7, 5, 6, 8, 9, 9, 5, 1, 2, 3, 4, 5, 5, 0, 0});
  const BatchPlan plan(data, tokens);
  std::set<std::int64_t> live;
  std::int64_t valid = 0;
  for (std::int64_t microbatch = 0; microbatch < 3; ++microbatch) {
    const Microbatch made = plan.make(0, microbatch);
    for (std::int64_t row = 0; row < made.ids.size(0); ++row) {
      bool label_at_or_after = false;
      for (std::int64_t place = made.ids.size(1) - 1; place >= 0; --place) {
        const bool has_label = made.labels[row][place].item<std::int64_t>() != -100;
        valid += has_label ? 1 : 0;
        label_at_or_after = label_at_or_after || has_label;
        if (label_at_or_after) live.insert(made.ids[row][place].item<std::int64_t>());
      }
    }
  }

  EXPECT_EQ(plan.step_tokens(), 14);
  EXPECT_EQ(plan.step_valid_tokens(0), valid);
  EXPECT_EQ(plan.live_tokens(0), std::ssize(live));
  EXPECT_EQ(plan.longest_sequence(), 4);
  EXPECT_EQ(plan.tokens(1), 6);
  EXPECT_EQ(plan.valid_tokens(0, 1), 0);
}

/// For each id of `counting(length)`, 1 if it is among `ignored`.
Tokens bytes_of(std::int64_t length, const std::set<std::int64_t>& ignored) {
  std::vector<std::int32_t> bytes;
  for (std::int64_t id = 0; id < length; ++id) bytes.push_back(ignored.contains(id) ? 1 : 0);
  return Tokens(std::move(bytes));
}

TEST(BatchPlan, AnIgnoredTokenIsReadButIsNoLabel) {
  const DataSettings data = data_of({{3, 2}, {4}}, {});
  const std::int64_t start = start_of(data, 1000);
  // Tokens of step 0: labels of the first row are start+1..3, of the second +4, +5, of the last +6..9.
  const BatchPlan plan(data, counting(1000), bytes_of(1000, {start, start + 2, start + 4, start + 5, start + 9}));

  const Microbatch made = plan.make(0, 0);
  EXPECT_EQ(integers_of(made.ids), (std::vector<std::int64_t>{start, start + 1, start + 2, start + 3, start + 4, 0}));
  EXPECT_EQ(integers_of(made.labels), (std::vector<std::int64_t>{start + 1, -100, start + 3, -100, -100, -100}));
  EXPECT_EQ(made.valid_tokens, 2);
  EXPECT_EQ(plan.valid_tokens(0, 0), 2);
  EXPECT_EQ(plan.valid_tokens(0, 1), 3);
  EXPECT_EQ(plan.valid_tokens(1, 1), 4) << "another step has other tokens";
  EXPECT_EQ(plan.step_valid_tokens(0), 5);
  EXPECT_EQ(plan.live_tokens(0), 6) << "3 of the first row, none of the second, 3 of the last";
  EXPECT_EQ(plan.tokens(0), 5);
}

TEST(BatchPlan, AStepWithoutLabelsIsRefused) {
  const DataSettings data = data_of({{4}});
  const std::int64_t start = start_of(data, 1000);
  const BatchPlan plan(data, counting(1000), bytes_of(1000, {start + 5, start + 6, start + 7, start + 8}));

  EXPECT_EQ(plan.step_valid_tokens(0), 4);
  EXPECT_THAT([&] { plan.step_valid_tokens(1); },
              ThrowsMessage<InputError>(HasSubstr("step 1: data.ignore leaves no label among its 4 tokens")));
}

TEST(BatchPlan, LiveIdsDependOnTheStep) {
  const BatchPlan plan(data_of({{4}}), Tokens(std::vector<std::int32_t>{1, 1, 1, 1, 2, 3, 4, 5}));

  std::set<std::int64_t> counts;
  for (std::int64_t step = 0; step < 2; ++step) {
    const std::vector<std::int64_t> ids = integers_of(plan.make(step, 0).ids);
    EXPECT_EQ(plan.live_tokens(step), std::ssize(std::set<std::int64_t>(ids.begin(), ids.end()))) << step;
    counts.insert(plan.live_tokens(step));
  }
  EXPECT_EQ(counts.size(), 2U) << "the two steps must differ";
}

TEST(BatchPlan, ShuffledEpochsUseEveryWindowOnceInDifferentOrders) {
  DataSettings data = data_of({{4, 4}, {3, 1}});
  data.shuffle = "windows";
  const BatchPlan plan(data, counting(4 * 22 + 3));  // 22 windows, and two tokens in none of them

  std::vector<std::vector<std::int64_t>> orders(2);  // of two epochs, in 11 steps
  for (std::int64_t step = 0; step < 11; ++step) {
    for (std::int64_t microbatch = 0; microbatch < 2; ++microbatch) {
      const Microbatch made = plan.make(step, microbatch);
      for (std::int64_t row = 0; row < 2; ++row) {
        const auto first = made.ids[row][0].item<std::int64_t>();
        EXPECT_EQ(first % 4, 0) << "a row begins with its window";
        EXPECT_EQ(made.labels[row][0].item<std::int64_t>(), first + 1);
        orders.at(static_cast<std::size_t>(step * 4 + microbatch * 2 + row) / 22).push_back(first / 4);
      }
    }
  }
  const std::vector<std::vector<std::int64_t>> unsorted = orders;
  for (auto& order : orders) std::ranges::sort(order);

  std::vector<std::int64_t> all(22);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(orders[0], all);
  EXPECT_EQ(orders[1], all);
  EXPECT_NE(unsorted[0], all);
  EXPECT_NE(unsorted[0], unsorted[1]);
  EXPECT_DOUBLE_EQ(plan.epochs(11), 2.0);
}

TEST(BatchPlan, ShuffledTheLastWindowHasItsLastLabel) {
  DataSettings data = data_of({{4, 4}, {4}});
  data.shuffle = "windows";
  const BatchPlan plan(data, counting(4 * 22));  // the last of 22 windows has no label after it: there are 21

  std::vector<std::int64_t> order;
  for (std::int64_t step = 0; step < 7; ++step) {
    for (std::int64_t microbatch = 0; microbatch < 2; ++microbatch) {
      const at::Tensor ids = plan.make(step, microbatch).ids;
      for (std::int64_t row = 0; row < ids.size(0); ++row) order.push_back(ids[row][0].item<std::int64_t>() / 4);
    }
  }

  std::ranges::sort(order);
  std::vector<std::int64_t> all(21);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all);
}

TEST(BatchPlan, EpochsCountTheTokensThatRowsRead) {
  EXPECT_DOUBLE_EQ(BatchPlan(data_of({{5}, {4}}), counting(18)).epochs(3), 1.5);
}

TEST(BatchPlan, ShuffledEachRowOfAStepNeedsAWindow) {
  DataSettings data = data_of({{4, 1}, {2, 2}});
  data.shuffle = "windows";

  const std::string message = error_of<InputError>([&] { BatchPlan(data, counting(16)); });

  EXPECT_THAT(message, HasSubstr("needs 17"));
  EXPECT_NO_THROW(BatchPlan(data, counting(17)));
}

TEST(BatchPlan, TensorsBelongToTheData) {
  const BatchPlan plan(data_of({{4, 2}}), counting(100));
  MemoryMeter& meter = new_memory_meter();
  meter.attach();

  const Microbatch made = plan.make(0, 0);

  EXPECT_EQ(meter.count(MemoryOwner::data).live, 2 * 8 * 8);
  EXPECT_EQ(meter.total().peak, 2 * 8 * 8);
}

TEST(BatchPlan, FindsEqualMicrobatches) {
  const Tokens monotone(std::vector<std::int32_t>(100, 3));

  const BatchPlan plan(data_of({{4}, {3}, {4}, {4}, {4}}, {3}), monotone);

  EXPECT_THAT(plan.equal_microbatches(0), ElementsAre(std::pair(0, 2), std::pair(2, 4)));
  EXPECT_TRUE(BatchPlan(data_of({{4}, {4}}), counting(100)).equal_microbatches(0).empty());
  EXPECT_TRUE(BatchPlan(data_of({{4}, {4}}, {0, 1}), monotone).equal_microbatches(0).empty());
}

TEST(BatchPlan, RefusesATextThatIsTooShort) {
  const DataSettings data = data_of({{4, 4}, {2, 2}});

  const std::string message = error_of<InputError>([&] { BatchPlan(data, counting(12)); });

  EXPECT_THAT(message, HasSubstr("story.txt"));
  EXPECT_THAT(message, HasSubstr("12 tokens"));
  EXPECT_THAT(message, HasSubstr("needs 13"));
  EXPECT_NO_THROW(BatchPlan(data, counting(13)));
}

}  // namespace
}  // namespace plumbline
