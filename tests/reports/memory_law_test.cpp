#include "reports/memory_law.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/schedule.hpp"

namespace plumbline {
namespace {

/// Layers that keep 100 bytes and need no more than they keep while they run.
MemoryLaw even_law(std::int64_t microbatches, const std::vector<std::string>& units) {
  MemoryLaw law;
  for (std::int64_t microbatch = 0; microbatch < microbatches; ++microbatch) {
    law.boundary_bytes[microbatch] = 8;
    for (const auto& unit : units) {
      SavedRow row;
      row.microbatch = microbatch;
      row.unit = unit;
      row.saved_bytes = row.forward_bytes = row.backward_bytes = 100;
      law.saved[{unit, microbatch}] = row;
    }
  }
  return law;
}

ActionList list_of(std::initializer_list<const char*> texts) {
  ActionList list;
  for (const char* text : texts) list.push_back(parse_action(text).value());
  return list;
}

TEST(MemoryLaw, ReducesToTheNumberOfMicrobatchesInFlight) {
  constexpr std::int32_t ranks = 4, microbatches = 6;
  const MemoryLaw law = even_law(microbatches, {"layers.0"});
  const Schedule early = make_schedule("1f1b", ranks, microbatches), late = make_schedule("afab", ranks, microbatches);

  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    const std::map<std::int64_t, std::vector<std::string>> units{{rank, {"layers.0"}}};

    EXPECT_EQ(predicted_activation_peak(law, early.ranks[index], units), 100 * std::min(microbatches, ranks - rank));
    EXPECT_EQ(predicted_activation_peak(law, late.ranks[index], units), 100 * microbatches);
  }
}

TEST(MemoryLaw, BackwardRunsTheUnitsInReverse) {
  MemoryLaw law = even_law(1, {"layers.0", "norm"});
  law.saved[{"norm", 0}].backward_bytes = 1000;

  const auto peak = predicted_activation_peak(law, list_of({"0F0", "0B0"}), {{0, {"layers.0", "norm"}}});

  EXPECT_EQ(peak, 1100) << "norm goes backward while layers.0 still keeps its 100 bytes";
}

TEST(MemoryLaw, ASplitBackwardKeepsWhatTheWeightGradientNeeds) {
  MemoryLaw law = even_law(2, {"layers.0"});
  const ActionList list = list_of({"0F0", "0I0", "0F1", "0W0", "0B1"});
  const std::map<std::int64_t, std::vector<std::string>> units{{0, {"layers.0"}}};

  EXPECT_EQ(predicted_activation_peak(law, list, units), std::nullopt) << "the columns of the second pass are absent";
  for (auto& [key, row] : law.saved) {
    row.input_bytes = 100;
    row.retained_bytes = 60;
    row.weight_bytes = 70;
  }
  EXPECT_EQ(predicted_activation_peak(law, list, units), 170) << "W of 0 over the 100 bytes of 1";
}

TEST(MemoryLaw, AnEmptyStageHoldsOnlyTheTensorItRelays) {
  const MemoryLaw law = even_law(2, {"layers.0"});

  EXPECT_EQ(predicted_activation_peak(law, list_of({"1F0", "1F1", "1B0", "1B1"}), {{1, {}}}), 8);
}

TEST(MemoryLaw, WhatTheReferenceDidNotRecordIsNotGuessed) {
  const MemoryLaw law = even_law(1, {"layers.0"});

  EXPECT_EQ(predicted_activation_peak(law, list_of({"0F1"}), {{0, {"layers.0"}}}), std::nullopt);
  EXPECT_EQ(predicted_activation_peak(law, list_of({"0F0"}), {{0, {"layers.1"}}}), std::nullopt);
  EXPECT_EQ(predicted_activation_peak(law, list_of({"3F0"}), {{0, {"layers.0"}}}), std::nullopt);
}

}  // namespace
}  // namespace plumbline
