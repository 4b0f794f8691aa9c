// SPDX-License-Identifier: BSD-3-Clause
#include "training/microbatch.hpp"

#include <ATen/Functions.h>
#include <gmock/gmock.h>

#include <span>
#include <stdexcept>

#include "record/digest.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;

Microbatch a_microbatch(std::vector<std::int64_t> ids, std::vector<std::int64_t> labels) {
  const auto as_tensor = [](const std::vector<std::int64_t>& numbers) {
    return at::tensor(numbers, at::kLong).view({1, static_cast<std::int64_t>(numbers.size())});
  };
  return {as_tensor(ids), as_tensor(labels), 0, 0};
}

const Microbatch one = a_microbatch({1, 2, 3}, {2, 3, 4}), other = a_microbatch({5}, {-100});

TEST(DataDigests, DigestIdsThenLabels) {
  const std::vector<std::int64_t> both{1, 2, 3, 2, 3, 4};

  EXPECT_EQ(data_digest(one), tensor_digest("int64", {2, 1, 3}, std::as_bytes(std::span(both))));
  EXPECT_NE(data_digest(a_microbatch({2, 3, 4}, {1, 2, 3})), data_digest(one));
}

TEST(DataDigests, AreOfOneStepInOrderOfMicrobatches) {
  DataDigests digests(2);
  digests.add(1, other), digests.add(0, one);  // in any order, as schedules may have
  const auto first = digests.end_step();
  digests.add(0, other);

  EXPECT_THAT(first, ElementsAre(data_digest(one), data_digest(other)));
  EXPECT_THAT(digests.end_step(), ElementsAre(data_digest(other), ""));
}

TEST(DataDigests, RefuseDifferentDataAtBothEnds) {
  DataDigests digests(1);
  digests.add(0, one);

  EXPECT_NO_THROW(digests.add(0, one));
  EXPECT_THROW(digests.add(0, other), std::logic_error);
  EXPECT_THROW(digests.add(1, one), std::out_of_range);
}

}  // namespace
}  // namespace plumbline
