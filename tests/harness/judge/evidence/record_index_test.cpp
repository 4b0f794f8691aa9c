// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "harness/judge/evidence/record_reading.hpp"

namespace plumbline::judging {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

MicrobatchRow microbatch(std::int64_t number, std::int64_t batch, std::int64_t length) {
  MicrobatchRow row;
  row.microbatch = number;
  row.batch = batch;
  row.sequence_length = length;
  return row;
}

TEST(BoundaryBytes, AreThoseOfTheMicrobatchInTheComputedDtype) {
  std::vector<RankRecord> ranks(2);
  for (RankRecord& rank : ranks) rank.microbatches = {microbatch(0, 2, 5), microbatch(1, 3, 7)};
  const RecordIndex index(ranks);
  Manifest manifest;
  manifest.dtype = "float32";
  manifest.microbatches = 2;
  EXPECT_THAT(boundary_bytes(index, manifest, 8), ElementsAre(2 * 5 * 8 * 4, 3 * 7 * 8 * 4));
  manifest.dtype = "bfloat16";
  EXPECT_THAT(boundary_bytes(index, manifest, 8), ElementsAre(2 * 5 * 8 * 2, 3 * 7 * 8 * 2));
  manifest.dtype = "mixed";
  EXPECT_THAT(boundary_bytes(index, manifest, 8), ElementsAre(2 * 5 * 8 * 2, 3 * 7 * 8 * 2));
  manifest.microbatches = 3;
  EXPECT_THAT(boundary_bytes(index, manifest, 8), IsEmpty()) << "a microbatch without a row has no known bytes";
}

}  // namespace
}  // namespace plumbline::judging
