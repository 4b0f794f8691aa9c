// SPDX-License-Identifier: BSD-3-Clause
// Finds rows by key: all rows of a key on every rank, with the rank.
#include <gmock/gmock.h>

#include "harness/judge/evidence/record_reading.hpp"
#include "harness/judge/facts/fact.hpp"

namespace plumbline::judging {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

MicrobatchRow microbatch(std::int64_t number, std::int64_t batch, std::int64_t length) {
  MicrobatchRow row;
  row.microbatch = number;
  row.batch = batch;
  row.sequence_length = length;
  return row;
}

/// Two ranks whose numbers differ from their stages' numbers.
class RecordIndexOf : public ::testing::Test {
 protected:
  RecordIndexOf() : ranks_(2) {
    ranks_[0].rank = 4;
    ranks_[1].rank = 7;
    for (RankRecord& rank : ranks_) {
      for (const char* kind : {"gradient", "parameter"}) {
        TensorRow row;
        row.kind = kind;
        row.name = "norm";
        row.stage = rank.rank + 10;
        rank.tensors.push_back(row);
      }
      BoundaryRow boundary;
      boundary.microbatch = 1;
      boundary.direction = "forward";
      boundary.cut = "layers.1";
      rank.boundaries.push_back(boundary);
      boundary.direction = "backward";
      rank.boundaries.push_back(boundary);
      rank.microbatches = {microbatch(0, 2, 5), microbatch(1, 3, 7)};
      rank.steps.resize(1);
      EvaluationRow evaluation;
      rank.evaluation.push_back(evaluation);
      evaluation.microbatch = 0;
      rank.evaluation.push_back(evaluation);
    }
  }
  template <class Row>
  static std::vector<std::int64_t> ranks_of(const std::vector<Located<Row>>& rows) {
    std::vector<std::int64_t> ranks;
    for (const Located<Row>& each : rows) ranks.push_back(each.rank);
    return ranks;
  }

  std::vector<RankRecord> ranks_;
};

TEST_F(RecordIndexOf, FindsRowsByKeyOnEachRank) {
  const RecordIndex index(ranks_);

  ASSERT_THAT(ranks_of(index.tensors("gradient", "norm")), ElementsAre(4, 7));
  EXPECT_EQ(index.tensors("gradient", "norm")[1].row, &ranks_[1].tensors[0]);
  EXPECT_EQ(index.tensors("parameter", "norm")[0].row, &ranks_[0].tensors[1]);
  EXPECT_THAT(index.tensors("gradient", "head"), IsEmpty());
  ASSERT_THAT(ranks_of(index.boundaries(1, "backward", "layers.1")), ElementsAre(4, 7));
  EXPECT_EQ(index.boundaries(1, "backward", "layers.1")[1].row, &ranks_[1].boundaries[1]);
  EXPECT_THAT(index.boundaries(0, "forward", "layers.1"), IsEmpty());
  EXPECT_THAT(index.boundaries(1, "forward", "layers.2"), IsEmpty());
  ASSERT_THAT(ranks_of(index.microbatches(1)), ElementsAre(4, 7));
  EXPECT_EQ(index.microbatches(1)[0].row, &ranks_[0].microbatches[1]);
  EXPECT_THAT(index.microbatches(2), IsEmpty());
}

TEST_F(RecordIndexOf, FindsEvaluationRowsByMicrobatchAndRank) {
  Record record;
  record.ranks = ranks_;
  const Facts facts = recorded_facts(record);
  const auto found = [&](std::int64_t microbatch) {
    std::vector<std::pair<std::int64_t, const EvaluationRow*>> rows;
    for (const Fact& fact : with_key(facts, {.column = Column::evaluation, .microbatch = microbatch}))
      rows.emplace_back(fact.place.rank, std::get<const EvaluationRow*>(fact.value));
    return rows;
  };

  EXPECT_THAT(found(-1), ElementsAre(Pair(4, &record.ranks[0].evaluation[0]), Pair(7, ::testing::_)));
  ASSERT_THAT(found(0), SizeIs(2));
  EXPECT_EQ(found(0)[1].second, &record.ranks[1].evaluation[1]);
  EXPECT_THAT(found(1), IsEmpty());
}

TEST_F(RecordIndexOf, RowsAreInRankOrder) {
  const RecordIndex index(ranks_);

  EXPECT_THAT(ranks_of(index.all_tensors()), ElementsAre(4, 4, 7, 7));
  EXPECT_THAT(ranks_of(index.all_boundaries()), ElementsAre(4, 4, 7, 7));
  EXPECT_THAT(ranks_of(index.steps()), ElementsAre(4, 7));
}

TEST_F(RecordIndexOf, BoundaryTensorsHaveTheirMicrobatchsBytesInTheComputedDtype) {
  Manifest manifest;
  manifest.dtype = "float32";
  manifest.microbatches = 2;
  EXPECT_THAT(boundary_bytes(RecordIndex(ranks_), manifest, 8), ElementsAre(2 * 5 * 8 * 4, 3 * 7 * 8 * 4));
  manifest.dtype = "bfloat16";
  EXPECT_THAT(boundary_bytes(RecordIndex(ranks_), manifest, 8), ElementsAre(2 * 5 * 8 * 2, 3 * 7 * 8 * 2));
  manifest.dtype = "mixed";
  EXPECT_THAT(boundary_bytes(RecordIndex(ranks_), manifest, 8), ElementsAre(2 * 5 * 8 * 2, 3 * 7 * 8 * 2));
  manifest.microbatches = 3;
  EXPECT_THAT(boundary_bytes(RecordIndex(ranks_), manifest, 8), IsEmpty())
      << "a microbatch without a row has no known bytes";
}

}  // namespace
}  // namespace plumbline::judging
