// SPDX-License-Identifier: BSD-3-Clause
#include "training/tensor_record.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/error.hpp"
#include "training/memory_meter.hpp"

namespace plumbline {
namespace {

at::Tensor tensor_of(const std::vector<double>& numbers, at::IntArrayRef shape, at::ScalarType dtype) {
  at::Tensor tensor = at::empty(shape, at::kDouble);
  std::copy(numbers.begin(), numbers.end(), tensor.mutable_data_ptr<double>());
  return tensor.to(dtype);
}

// The vectors of docs/record-format.md.
TEST(TensorDigest, MatchesTheDocumentedValues) {
  EXPECT_EQ(digest(tensor_of({1, 2, 3}, {3}, at::kFloat)), "e9ae472f8e0534b67486a13c09695146");
  EXPECT_EQ(digest(tensor_of({1.5}, {}, at::kFloat)), "77b3d71dc009b6ec2f49a7bfef15fa25");
  EXPECT_EQ(digest(at::empty({0, 4}, at::kFloat)), "9f0dabaa0b971303666ff5a48f727d4a");
  EXPECT_EQ(digest(tensor_of({1, -2, 3, -0.0}, {2, 2}, at::kBFloat16)), "2ef6e75c029872b94e37c23c2a3f4ff3");
  EXPECT_EQ(digest(tensor_of({1, -100}, {2}, at::kLong)), "73c92bbd3a0b61aae62e86e1dd91d5d5");
}

TEST(TensorDigest, AViewHasTheDigestOfItsCopy) {
  const at::Tensor tensor = tensor_of({1, 2, 3, 4, 5, 6}, {2, 3}, at::kFloat);

  EXPECT_EQ(digest(tensor.t()), digest(tensor_of({1, 4, 2, 5, 3, 6}, {3, 2}, at::kFloat)));
  EXPECT_EQ(digest(tensor[1]), digest(tensor_of({4, 5, 6}, {3}, at::kFloat)));
}

TEST(DescribeTensor, DescribesAMatrix) {
  const TensorRow row = describe(tensor_of({3, 0, 0, 0, -4, 0}, {3, 2}, at::kFloat));

  EXPECT_EQ(row.dtype, "float32");
  EXPECT_EQ(row.shape, (Shape{3, 2}));
  EXPECT_EQ(row.l2, 5);
  EXPECT_EQ(row.max_abs, 4);
  EXPECT_EQ(row.nonzero, 2);
  EXPECT_EQ(row.nonzero_rows, 2);
  EXPECT_EQ(row.nan, 0);
  EXPECT_EQ(row.inf, 0);
  EXPECT_EQ(row.digest, digest(tensor_of({3, 0, 0, 0, -4, 0}, {3, 2}, at::kFloat)));
}

TEST(DescribeTensor, LosesNoSmallElementsOfALargeMatrix) {
  const at::Tensor embedding = at::full({1000, 1000}, 1e-9, at::kDouble);
  embedding[0][0] = 1;
  EXPECT_NEAR(describe(embedding).l2, 1 + 0.5e-12, 0.1e-12) << "the square of each is below half an ULP of their sum";
}

TEST(DescribeTensor, CountsRowsOfMatricesOnly) {
  EXPECT_FALSE(describe(tensor_of({1, 2}, {2}, at::kFloat)).nonzero_rows.has_value());
  EXPECT_FALSE(describe(tensor_of({1, 2}, {1, 1, 2}, at::kFloat)).nonzero_rows.has_value());
  EXPECT_EQ(describe(at::zeros({4, 2}, at::kFloat)).nonzero_rows, 0);
}

TEST(DescribeTensor, ShowsNanAndInfinity) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();

  const TensorRow row = describe(tensor_of({1, nan, -infinity, 0, infinity}, {5}, at::kFloat));

  EXPECT_EQ(row.nan, 1);
  EXPECT_EQ(row.inf, 2);
  EXPECT_EQ(row.nonzero, 4);
  EXPECT_TRUE(std::isnan(row.l2));
  EXPECT_TRUE(std::isnan(row.max_abs));
}

TEST(DescribeTensor, NegativeZeroIsAZeroWithOtherBits) {
  const TensorRow negative = describe(tensor_of({-0.0}, {1}, at::kFloat));

  EXPECT_EQ(negative.nonzero, 0);
  EXPECT_NE(negative.digest, describe(tensor_of({0.0}, {1}, at::kFloat)).digest);
}

TEST(DescribeTensor, KnowsEveryDtypeOfARecord) {
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kLong}) {
    const TensorRow row = describe(tensor_of({2, 0, -3}, {3}, dtype));

    EXPECT_EQ(row.dtype, dtype_name(dtype));
    EXPECT_EQ(parse_dtype(row.dtype), dtype);
    EXPECT_EQ(row.max_abs, 3);
    EXPECT_EQ(row.nonzero, 2);
    EXPECT_DOUBLE_EQ(row.l2, std::sqrt(13.0));
  }
}

TEST(DescribeTensor, TakesAnEmptyTensor) {
  const TensorRow row = describe(at::empty({0, 4}, at::kFloat));

  EXPECT_EQ(row.shape, (Shape{0, 4}));
  EXPECT_EQ(row.nonzero, 0);
  EXPECT_EQ(row.max_abs, 0);
}

TEST(DescribeTensor, CopiesOnlyNonContiguousTensors) {
  MemoryMeter& meter = new_memory_meter();
  meter.attach();
  const at::Tensor tensor = at::zeros({100, 10}, at::kFloat);
  meter.reset_total_peak();

  describe(tensor);

  EXPECT_EQ(meter.total().peak, 4000);

  describe(tensor.t());

  EXPECT_EQ(meter.count(MemoryOwner::recorder).peak, 4000);
  EXPECT_EQ(meter.count(MemoryOwner::recorder).live, 0);
}

TEST(Dtypes, RefuseTypesUnknownToRecords) {
  EXPECT_THROW(dtype_name(at::kBool), std::logic_error);
  EXPECT_THROW(describe(at::zeros({2}, at::kBool)), std::logic_error);
  EXPECT_THROW(parse_dtype("float8"), InputError);
}

}  // namespace
}  // namespace plumbline
