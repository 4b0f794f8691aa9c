// SPDX-License-Identifier: BSD-3-Clause
#include "support/text.hpp"

#include <gtest/gtest.h>

namespace plumbline {
namespace {

TEST(Utf8, AcceptsCharactersOfAllLengths) {
  EXPECT_FALSE(first_invalid_utf8(""));
  EXPECT_FALSE(first_invalid_utf8("plain"));
  EXPECT_FALSE(first_invalid_utf8("\u00e9 \u20ac \U0001F600 \U0010FFFF \uD7FF \uE000"));
}

TEST(Utf8, NamesTheFirstBadByte) {
  EXPECT_EQ(first_invalid_utf8("ab\xFFxy"), 2u);
  EXPECT_EQ(first_invalid_utf8("\x80"), 0u);
  EXPECT_EQ(first_invalid_utf8("a\xC3"), 1u) << "cut off";
  EXPECT_EQ(first_invalid_utf8("a\xE2\x82"), 1u) << "cut off";
  EXPECT_EQ(first_invalid_utf8("\xC0\xAF"), 0u) << "overlong";
  EXPECT_EQ(first_invalid_utf8("\xE0\x80\xAF"), 0u) << "overlong";
  EXPECT_EQ(first_invalid_utf8("\xF0\x80\x80\xAF"), 0u) << "overlong";
  EXPECT_EQ(first_invalid_utf8("\xED\xA0\x80"), 0u) << "surrogate";
  EXPECT_EQ(first_invalid_utf8("\xF4\x90\x80\x80"), 0u) << "beyond the last code point";
}

TEST(NearestWord, FindsATypoAndIgnoresDistantWords) {
  const std::vector<std::string> known{"steps", "seed", "learning_rate"};

  EXPECT_EQ(nearest_word("step", known), "steps");
  EXPECT_EQ(nearest_word("learnig_rate", known), "learning_rate");
  EXPECT_EQ(nearest_word("seed", known), "seed");
  EXPECT_EQ(nearest_word("setps", {"steps", "sets"}), "steps") << "a swap counts as one error, as does an extra letter";
  EXPECT_EQ(nearest_word("ab", {"x", "ba"}), "ba") << "a swap is near enough; two substitutions would not be";
  EXPECT_EQ(nearest_word("beed", {"seed", "feed"}), "seed") << "the first of two equally near";
  EXPECT_FALSE(nearest_word("transport", {"seed", "steps"}));
  EXPECT_FALSE(nearest_word("x", {"seed"}));
  EXPECT_FALSE(nearest_word("seed", {}));
}

TEST(DidYouMean, AcceptsAnyCaseAndCommonAbbreviations) {
  const std::vector<std::string> precisions{"float32", "float64", "bfloat16", "mixed"};

  EXPECT_EQ(did_you_mean("bf16", precisions), "; did you mean bfloat16?");
  EXPECT_EQ(did_you_mean("FP32", precisions), "; did you mean float32?");
  EXPECT_EQ(did_you_mean("BFloat61", precisions), "; did you mean bfloat16?");
  for (const char* word : {"fp16", "float16", "Half"}) {
    EXPECT_EQ(did_you_mean(word, precisions), "; float16 does not exist here, use bfloat16 or mixed");
    EXPECT_EQ(did_you_mean(word, {"float32", "bfloat16"}), "; float16 does not exist here, use bfloat16");
  }
  EXPECT_EQ(did_you_mean("fp16", {"bfloat16", "float16"}), "; did you mean float16?");
  EXPECT_EQ(did_you_mean("tcp", {"mpi", "threads"}), "; did you mean mpi?");
  EXPECT_EQ(did_you_mean("SGD", {"adamw", "sgd"}), "; did you mean sgd?");
  EXPECT_EQ(did_you_mean("pigeons", {"mpi", "threads"}), "");
}

TEST(Join, PutsSeparatorsBetween) {
  EXPECT_EQ(join(std::vector<std::string>(), ", "), "");
  EXPECT_EQ(join(std::vector<std::int64_t>{-1, 20}, ", "), "-1, 20");
  EXPECT_EQ(join({"a"}, ", "), "a");
  EXPECT_EQ(join({"a", "", "c"}, ", "), "a, , c");
}

TEST(Shape, RoundTripsAndRefusesMalformedText) {
  using Shape = std::vector<std::int64_t>;
  for (const auto& [shape, text] :
       {std::pair{Shape{}, ""}, {Shape{3}, "3"}, {Shape{0, 4}, "0x4"}, {Shape{2, 64, 512}, "2x64x512"}}) {
    EXPECT_EQ(shape_text(shape), text);
    EXPECT_EQ(parse_shape(text), shape) << text;
  }
  for (const char* text : {"x", "2x", "x2", "2xx3", "-1", "2x-1", "02", "2X3", "2 x 3", "a"})
    EXPECT_FALSE(parse_shape(text)) << text;
}

TEST(Text, CountsInSingularAndPlural) {
  EXPECT_EQ(quantity(1, "check"), "1 check");
  EXPECT_EQ(quantity(0, "check"), "0 checks");
  EXPECT_EQ(quantity(2, "step loss"), "2 step losses");
  EXPECT_EQ(quantity(2, "copy"), "2 copies");
  EXPECT_EQ(quantity(2, "day"), "2 days");
}

}  // namespace
}  // namespace plumbline
