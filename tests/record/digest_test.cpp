// SPDX-License-Identifier: BSD-3-Clause
#include "record/digest.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <stdexcept>

namespace plumbline {
namespace {

template <typename Value, std::size_t count>
std::string digest(const std::string& dtype, const Shape& shape, const std::array<Value, count>& values) {
  return tensor_digest(dtype, shape, std::as_bytes(std::span(values)));
}

// The vectors of docs/record-format.md, with which other programs check their digests.
TEST(TensorDigest, EqualsThePublishedVectors) {
  EXPECT_EQ(digest<float>("float32", {3}, std::array{1.0f, 2.0f, 3.0f}), "e9ae472f8e0534b67486a13c09695146");
  EXPECT_EQ(digest<float>("float32", {}, std::array{1.5f}), "77b3d71dc009b6ec2f49a7bfef15fa25");
  EXPECT_EQ(tensor_digest("float32", {0, 4}, {}), "9f0dabaa0b971303666ff5a48f727d4a");
  const std::array<std::uint16_t, 4> bfloats{0x3F80, 0xC000, 0x4040, 0x8000};  // 1 -2 3 -0
  EXPECT_EQ(digest("bfloat16", {2, 2}, bfloats), "2ef6e75c029872b94e37c23c2a3f4ff3");
  EXPECT_EQ((digest<std::int64_t>("int64", {2}, std::array<std::int64_t, 2>{1, -100})),
            "73c92bbd3a0b61aae62e86e1dd91d5d5");
}

TEST(TensorDigest, DependsOnEveryBitTheDtypeAndTheShape) {
  const std::array<float, 2> values{1, 0}, negative_zero{1, -0.0f};
  const std::string digest_of_values = digest("float32", {2}, values);

  EXPECT_NE(digest("float32", {2}, negative_zero), digest_of_values);
  EXPECT_NE(digest("float32", {1, 2}, values), digest_of_values);
  EXPECT_NE(digest("int64", {1}, values), digest("float64", {1}, values));
}

TEST(TensorDigest, BytesOfAnotherShapeAreAProgrammersError) {
  const std::array<float, 2> values{1, 2};

  EXPECT_THROW(digest("float32", {3}, values), std::logic_error);
  EXPECT_THROW(digest("float8", {2}, values), std::logic_error);
  EXPECT_THROW(tensor_digest("float8", {0}, {}), std::logic_error) << "even without elements";
}

}  // namespace
}  // namespace plumbline
