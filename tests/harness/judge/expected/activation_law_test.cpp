// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "harness/judge/expected/model.hpp"
#include "schedule/schedule.hpp"
#include "support/error.hpp"
#include "tests/harness/judge/expected/actions.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using namespace judging;
using ::testing::HasSubstr;

StageMap map_of(const std::vector<std::vector<std::string>>& stages) {
  Manifest manifest;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    manifest.stages.push_back({number, number, stages[i]});
  }
  return stage_map(manifest);
}

TEST(ActivationLaw, ForwardAndBackwardByHand) {
  // columns: saved, forward, backward
  const SavedTable saved = {{{0, "layers.0"}, {0, "layers.0", 10, 13, 17, {}, {}, {}}},
                            {{0, "norm"}, {0, "norm", 4, 6, 5, {}, {}, {}}},
                            {{1, "layers.0"}, {1, "layers.0", 20, 26, 34, {}, {}, {}}},
                            {{1, "norm"}, {1, "norm", 8, 12, 10, {}, {}, {}}}};
  const auto stages = map_of({{"layers.0", "norm"}});

  const auto peaks = predict_peaks(actions({"0F0", "0F1", "0B0", "0B1"}), stages, saved, {3, 6});

  // F0: max(13, 10 + 6), then 14 live. F1: max(14 + 26, 34 + 12) = 46, then 42. B0: norm 42 - 4 + 5 = 43, layer 38 - 10
  // + 17 = 45, then 28. B1: norm 28 - 8 + 10 = 30, layer 20 - 20 + 34 = 34, then 0.
  EXPECT_EQ(peaks, (std::vector<std::int64_t>{16, 46, 45, 34}));
}

TEST(ActivationLaw, SplitBackwardByHand) {
  // columns: saved 10, forward 13, backward 17; input 15, retained 6, weight 9
  const SavedTable saved = {{{0, "layers.0"}, {0, "layers.0", 10, 13, 17, 15, 6, 9}},
                            {{1, "layers.0"}, {1, "layers.0", 10, 13, 17, 15, 6, 9}}};
  const auto stages = map_of({{"layers.0"}});

  const auto peaks = predict_peaks(actions({"0F0", "0F1", "0I0", "0I1", "0W0", "0W1"}), stages, saved, {3, 3});

  // 13; 10 + 13; 20 - 10 + 15, then 16; 16 - 10 + 15, then 12; 12 - 6 + 9; 0 + 9
  EXPECT_EQ(peaks, (std::vector<std::int64_t>{13, 23, 25, 21, 15, 9}));
}

TEST(ActivationLaw, IsAnUpperLimitWithoutTheSplitColumns) {
  const SavedTable saved = {{{0, "layers.0"}, {0, "layers.0", 10, 13, 17, {}, {}, {}}}};

  const auto peaks = predict_peaks(actions({"0F0", "0I0", "0W0"}), map_of({{"layers.0"}}), saved, {3});

  EXPECT_EQ(peaks, (std::vector<std::int64_t>{13, 27, 17}));
}

TEST(ActivationLaw, AnEmptyStageHoldsOnlyTheTensorThatItForwards) {
  const auto peaks =
      predict_peaks(actions({"1F0", "1F1", "1B0", "1B1"}), map_of({{"embed_tokens"}, {}, {"norm"}}), {}, {30, 70});

  EXPECT_EQ(peaks, (std::vector<std::int64_t>{30, 70, 30, 70}));
}

TEST(ActivationLaw, EqualLengthsGiveTheCurvesOfTheSchedules) {
  constexpr std::int32_t ranks = 4, microbatches = 6;
  constexpr std::int64_t kept = 100, scratch = 7;
  SavedTable saved;
  std::vector<std::vector<std::string>> units;
  for (std::int32_t stage = 0; stage < ranks; ++stage) {
    units.push_back({"layers." + std::to_string(stage)});
    for (std::int64_t m = 0; m < microbatches; ++m)
      saved[{m, units.back()[0]}] = {m, units.back()[0], kept, kept + scratch, kept + scratch, {}, {}, {}};
  }
  const auto peak = [&](const std::string& name, std::int32_t rank) {
    const auto list = make_schedule(name, ranks, microbatches).ranks[static_cast<std::size_t>(rank)];
    const auto peaks = predict_peaks(list, map_of(units), saved, std::vector<std::int64_t>(microbatches, 1));
    return *std::ranges::max_element(peaks);
  };

  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    EXPECT_EQ(peak("1f1b", rank), std::min(microbatches, ranks - rank) * kept + scratch);
    EXPECT_EQ(peak("afab", rank), microbatches * kept + scratch);
  }
}

TEST(ActivationLaw, NamesAMissingRow) {
  const auto call = [] { predict_peaks(actions({"0F1"}), map_of({{"layers.0"}}), {}, {1, 1}); };
  EXPECT_THAT(error_of<InputError>(call), HasSubstr("microbatch 1, unit layers.0"));
}

// A split backward pass needs each of the three columns.
TEST(ActivationLaw, IsAnUpperLimitIfOneSplitColumnIsMissing) {
  using Cell = std::optional<std::int64_t>;
  for (const auto& [input, retained, weight] :
       std::vector<std::tuple<Cell, Cell, Cell>>{{{}, 6, 9}, {15, {}, 9}, {15, 6, {}}}) {
    const SavedTable saved = {{{0, "layers.0"}, {0, "layers.0", 10, 13, 17, input, retained, weight}}};

    const auto peaks = predict_peaks(actions({"0F0", "0I0", "0W0"}), map_of({{"layers.0"}}), saved, {3});

    EXPECT_EQ(peaks, (std::vector<std::int64_t>{13, 27, 17}));
  }
}

TEST(ActivationLaw, AnEmptyStageHasNoWeightGradients) {
  const auto peaks = predict_peaks(actions({"1F0", "1I0", "1W0"}), map_of({{"embed_tokens"}, {}, {"norm"}}), {}, {30});

  EXPECT_EQ(peaks, (std::vector<std::int64_t>{30, 30, 0}));
}

TEST(ActivationLaw, NamesUnknownStagesAndMicrobatches) {
  const auto stages = map_of({{"layers.0"}});

  EXPECT_THAT(error_of<InputError>([&] { predict_peaks(actions({"7F0"}), stages, {}, {1}); }),
              HasSubstr("the manifest does not list the stage of 7F0"));
  EXPECT_THAT(error_of<InputError>([&] { predict_peaks(actions({"0F1"}), stages, {}, {1}); }),
              HasSubstr("0F1 names a microbatch that microbatches.csv does not have"));
}

}  // namespace
}  // namespace plumbline::testing
