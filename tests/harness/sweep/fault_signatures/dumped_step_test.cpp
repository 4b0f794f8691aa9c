// SPDX-License-Identifier: BSD-3-Clause
// Which files of a record are a step's dumps, and the meaning of their keys.
#include "harness/sweep/fault_signatures/dumped_step.hpp"

#include "support/files.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

class DumpedStepOf : public ::testing::Test {
 protected:
  void dump(const std::string& folder, float value, std::int64_t step = 3) {
    const auto path = folder_ / (folder + "/dumps/step-" + std::to_string(step) + ".safetensors");
    make_folder(path.parent_path());
    write_safetensors(path, {{"gradient/w", {"float32", {1}, std::as_bytes(std::span(&value, 1))}}});
  }
  TemporaryFolder folder_;
};

TEST_F(DumpedStepOf, AllRanksInTheirOrder) {
  for (const int rank : {10, 9, 2}) dump("rank-" + std::to_string(rank), static_cast<float>(rank));
  dump("rank-1", 1, 4);  // another step's

  const DumpedStep step(folder_.path(), 3);

  std::vector<std::int64_t> ranks;
  for (const auto& [key, tensor] : step.tensors()) ranks.push_back(tensor.rank);
  EXPECT_THAT(ranks, ElementsAre(2, 9, 10));
  ASSERT_NE(step.find("gradient/w"), nullptr);
  EXPECT_EQ(step.find("gradient/w")->rank, 2);
  EXPECT_EQ(step.find("gradient/x"), nullptr);
}

TEST_F(DumpedStepOf, FoldersOfNoRankAreNotRead) {
  for (const char* other : {"x", "notes", "1", "kept-0", "rank-old", "rank-"}) dump(other, 1);

  EXPECT_TRUE(DumpedStep(folder_.path(), 3).empty());
}

TEST(DumpedTensors, AreEqualInDtypeShapeAndBits) {
  const std::vector<float> one{1, 2}, other{1, 3}, longer{1, 2, 3};
  const auto tensor = [](const std::string& dtype, const std::vector<std::int64_t>& shape,
                         const std::vector<float>& values) {
    return DumpedTensor{0, {dtype, shape, std::as_bytes(std::span(values))}};
  };
  const DumpedTensor first = tensor("float32", {2}, one);

  EXPECT_TRUE(first.equals(tensor("float32", {2}, one)));
  EXPECT_FALSE(first.equals(tensor("float32", {2}, other)));
  EXPECT_FALSE(first.equals(tensor("float32", {2, 1}, one)));
  EXPECT_FALSE(first.equals(tensor("bfloat16", {2}, one)));
  EXPECT_FALSE(first.equals(tensor("float32", {3}, longer)));
}

TEST(CrossingKeys, HaveFiveParts) {
  const auto key = parse_crossing_key("boundary/backward/7/layers.3/receive");
  ASSERT_TRUE(key);
  EXPECT_EQ(key->microbatch, 7);
  EXPECT_EQ(key->direction + " " + key->cut + " " + key->side, "backward layers.3 receive");
  EXPECT_FALSE(parse_crossing_key("boundary/backward/x/layers.3/receive"));
  EXPECT_FALSE(parse_crossing_key("boundary/backward/7/layers.3"));
  EXPECT_FALSE(parse_crossing_key("boundary/backward/7/layers.3/receive/again"));
  EXPECT_FALSE(parse_crossing_key("gradient/backward/7/layers.3/receive"));
}

}  // namespace
}  // namespace plumbline::testing
