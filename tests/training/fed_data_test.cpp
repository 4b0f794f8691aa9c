// SPDX-License-Identifier: BSD-3-Clause
#include "training/fed_data.hpp"

#include <ATen/Functions.h>
#include <gmock/gmock.h>

#include <span>
#include <stdexcept>

#include "record/digest.hpp"
#include "training/microbatch.hpp"

namespace plumbline {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Microbatch a_microbatch(std::vector<std::int64_t> ids, std::vector<std::int64_t> labels) {
  const auto as_tensor = [](const std::vector<std::int64_t>& numbers) {
    return at::tensor(numbers, at::kLong).view({1, static_cast<std::int64_t>(numbers.size())});
  };
  return {as_tensor(ids), as_tensor(labels), 0, 0};
}

const Microbatch one = a_microbatch({1, 2, 3}, {2, 3, 4}), other = a_microbatch({5}, {-100});

TEST(FedData, DigestIsThatOfIdsThenLabels) {
  const std::vector<std::int64_t> both{1, 2, 3, 2, 3, 4};

  EXPECT_EQ(data_digest(one), tensor_digest("int64", {2, 1, 3}, std::as_bytes(std::span(both))));
  EXPECT_NE(data_digest(a_microbatch({2, 3, 4}, {1, 2, 3})), data_digest(one));
}

TEST(FedData, TheRunsDigestIsOfAllDigestsInOrderOfStepAndMicrobatch) {
  FedData fed(2);
  fed.take(1, other), fed.take(0, one);  // in whatever order the schedule has
  const auto first = fed.end_step();
  fed.take(0, other), fed.take(1, one);
  fed.end_step();

  EXPECT_THAT(first, ElementsAre(data_digest(one), data_digest(other)));
  EXPECT_EQ(fed.digest(), hash_hex(data_digest(one) + data_digest(other) + data_digest(other) + data_digest(one)));
}

TEST(FedData, ARankThatSeesNoDataHasNoDigest) {
  FedData fed(2);

  EXPECT_THAT(fed.end_step(), Each(IsEmpty()));
  EXPECT_EQ(fed.digest(), std::nullopt);
}

TEST(FedData, ARankThatSeesSomeOfTheDataHasADigest) {
  FedData fed(2);
  fed.take(0, one);
  fed.end_step();

  EXPECT_EQ(fed.digest(), hash_hex(data_digest(one)));
}

TEST(FedData, BothEndsOfOneRankAreFedTheSame) {
  FedData fed(1);
  fed.take(0, one);

  EXPECT_NO_THROW(fed.take(0, one));
  EXPECT_THROW(fed.take(0, other), std::logic_error);
  EXPECT_THROW(fed.take(1, one), std::out_of_range);
}

}  // namespace
}  // namespace plumbline
