// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "harness/judge/expected/model.hpp"
#include "record/digest.hpp"

namespace plumbline::testing {
namespace {

using judging::ZeroDigests;

TEST(ZeroDigests, MatchTheDigestOfZeroBytes) {
  ZeroDigests zeros;
  for (const Shape& shape : {Shape{}, Shape{0, 4}, Shape{7}, Shape{128, 128}, Shape{128, 129}, Shape{3, 16384}}) {
    std::size_t bytes = 4;
    for (const std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
    EXPECT_EQ(zeros.digest("float32", shape), tensor_digest("float32", shape, std::vector<std::byte>(bytes)));
  }
}

TEST(ZeroDigests, AreAbsentForImpossibleShapes) {
  EXPECT_EQ(ZeroDigests().digest("float32", {1LL << 28, 1LL << 28}), "none");
}

}  // namespace
}  // namespace plumbline::testing
