// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/localize.hpp"

#include <cmath>
#include <cstring>

#include "record/digest.hpp"
#include "support/files.hpp"
#include "support/safetensors.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

std::vector<std::byte> bytes_in(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

const std::vector<std::int64_t> shape{2, 3};
const std::vector<float> right{1, 2, 3, 4, 5, 6}, wrong{1, 2, 3, 4, 5.5F, 7};

class FirstElement : public ::testing::Test {
 protected:
  void dump(const std::string& place, const std::string& key, const std::vector<float>& values) {
    const auto path = folder_ / place;
    make_folder(path.parent_path());
    const auto other = bytes_in({9}), bytes = bytes_in(values);
    write_safetensors(path, {{"parameter/another", {"float32", {1}, other}}, {key, {"float32", shape, bytes}}});
  }
  static Finding divergence(std::int64_t step) {
    Finding found;
    found.step = step;
    found.rank = 1;
    found.expected = tensor_digest("float32", shape, bytes_in(right));
    found.got = tensor_digest("float32", shape, bytes_in(wrong));
    return found;
  }

  TemporaryFolder folder_;
};

TEST_F(FirstElement, IsNamedWithPlaceAndBothValues) {
  dump("one/rank-0/dumps/step-2.safetensors", "boundary/forward/0/layers.1/computed", right);
  dump("other/rank-1/dumps/step-2.safetensors", "boundary/forward/0/layers.1/send", wrong);

  const auto found = first_element(divergence(2), folder_ / "one", folder_ / "other");

  ASSERT_TRUE(found);
  EXPECT_THAT(found->index, ElementsAre(1, 1));
  EXPECT_EQ(to_text(*found), "element [1, 1] of 2x3: expected 5, got 5.5 (1048576 ULP); 2 of 6 elements differ");
}

TEST_F(FirstElement, OfBfloat16IsShownAsNumberAndBits) {
  const std::vector<std::uint16_t> one{0x3f80, 0x8000, 0xbf80},
      other{0x3f80, 0x0001, 0xbf81};  // 1, -0 -> least, -1 -> next
  Finding found_by_digest;
  found_by_digest.step = 0;
  found_by_digest.rank = 0;
  const auto dump_as = [&](const std::string& place, const std::vector<std::uint16_t>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    make_folder((folder_ / place).parent_path());
    write_safetensors(folder_ / place, {{"gradient/w", {"bfloat16", {3}, bytes}}});
    return tensor_digest("bfloat16", {3}, {bytes.begin(), bytes.end()});
  };
  found_by_digest.expected = dump_as("one/rank-0/dumps/step-0.safetensors", one);
  found_by_digest.got = dump_as("other/rank-0/dumps/step-0.safetensors", other);

  const auto found = first_element(found_by_digest, folder_ / "one", folder_ / "other");

  ASSERT_TRUE(found);
  EXPECT_EQ(to_text(*found),
            "element [1] of 3: expected -0 = 0x8000, got 9.1835e-41 = 0x0001 (1 ULP); 2 of 3 elements differ");
}

TEST_F(FirstElement, OfTheStartIsReadFromItsOwnFile) {
  dump("one/rank-0/dumps/step-initial.safetensors", "parameter/w", right);
  dump("other/rank-1/dumps/step-initial.safetensors", "parameter/w", wrong);

  EXPECT_TRUE(first_element(divergence(-1), folder_ / "one", folder_ / "other"));
}

TEST_F(FirstElement, IsNotGuessedFromAnotherStepOrRank) {
  dump("one/rank-0/dumps/step-2.safetensors", "gradient/w", right);
  dump("other/rank-0/dumps/step-2.safetensors", "gradient/w", wrong);
  dump("other/rank-1/dumps/step-1.safetensors", "gradient/w", wrong);

  EXPECT_FALSE(first_element(divergence(2), folder_ / "one", folder_ / "other"));
}

TEST_F(FirstElement, NeedsBothTensors) {
  dump("other/rank-1/dumps/step-2.safetensors", "gradient/w", wrong);
  EXPECT_FALSE(first_element(divergence(2), folder_ / "one", folder_ / "other"));

  dump("one/rank-0/dumps/step-2.safetensors", "gradient/w", wrong);  // not what was expected
  EXPECT_FALSE(first_element(divergence(2), folder_ / "one", folder_ / "other"));
}

template <typename Number>
std::vector<std::byte> second_is(Number number) {
  const std::vector<Number> values{1, number, 3, 4};
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

TEST(ElementOfKind, IsShownInItsKind) {
  /// A tensor of four elements, and what a person reads of the second's difference.
  struct Case {
    std::string dtype;
    std::vector<std::byte> expected, got;
    std::string words;  ///< empty: nothing is said
  };
  const std::vector<Case> cases = {
      {"float64", second_is(2.0), second_is(2.5), "element [1] of 4: expected 2, got 2.5; 1 of 4 elements differ"},
      {"int64", second_is(std::int64_t{2}), second_is(std::int64_t{-7}),
       "element [1] of 4: expected 2, got -7; 1 of 4 elements differ"},
      {"float32", second_is(2.0F), second_is(std::nanf("")),
       "element [1] of 4: expected 2, got nan; 1 of 4 elements differ"},
      {"float32", second_is(0x1p-149F), second_is(-0x1p-149F),
       "element [1] of 4: expected 1e-45, got -1e-45 (2 ULP); 1 of 4 elements differ"},
      {"float64", second_is(2.0), second_is(2.0F), ""}};
  for (const auto& [dtype, expected, got, words] : cases) {
    const TemporaryFolder folder;
    const auto dump = [&](const char* record, const std::string& kind, const std::vector<std::byte>& bytes) {
      const auto path = folder / record / "rank-0/dumps/step-0.safetensors";
      make_folder(path.parent_path());
      write_safetensors(path, {{"gradient/w", {kind, {4}, bytes}}});
      return tensor_digest(kind, {4}, bytes);
    };
    Finding found;
    found.step = 0;
    found.rank = 0;
    found.expected = dump("one", dtype, expected);
    // the kind of what was got is that of the reference but where the sizes tell another
    found.got = dump("other", got.size() == expected.size() ? dtype : "float32", got);

    const auto difference = first_element(found, folder / "one", folder / "other");

    EXPECT_EQ(difference ? to_text(*difference) : "", words) << dtype;
  }
}

TEST_F(FirstElement, DumpsOfOtherStepsAreRemoved) {
  for (const char* step : {"initial", "0", "1"})
    dump("record/rank-0/dumps/step-" + std::string(step) + ".safetensors", "parameter/w", right);

  for (const char* file : {"record/manifest.json", "record/rank-0/tensors.csv"}) folder_.file(file, "");

  keep_dumps_of_step(folder_ / "record", 1);

  for (const char* file : {"record/manifest.json", "record/rank-0/tensors.csv"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / file)) << file;

  EXPECT_TRUE(std::filesystem::exists(folder_ / "record/rank-0/dumps/step-1.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "record/rank-0/dumps/step-0.safetensors"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "record/rank-0/dumps/step-initial.safetensors"));
}

CellVerdict failing(const std::vector<std::string>& checks) {
  CellVerdict cell;
  for (const auto& name : checks) {
    CheckResult check;
    check.name = name;
    check.outcome = Outcome::differs;
    cell.checks.push_back(check);
  }
  return cell;
}

TEST(WorthADump, OnlyDifferencesOfCompletedRuns) {
  EXPECT_TRUE(worth_a_dump(failing({"gradients", "memory"})));
  EXPECT_FALSE(worth_a_dump(failing({"memory", "conformance"})));
  EXPECT_FALSE(worth_a_dump(failing({"completion", "gradients"})));
  EXPECT_FALSE(worth_a_dump(failing({"data", "loss"})));
  EXPECT_FALSE(worth_a_dump(failing({})));
}

}  // namespace
}  // namespace plumbline::testing
