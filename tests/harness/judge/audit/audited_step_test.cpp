// SPDX-License-Identifier: BSD-3-Clause
// A step for the recomputation: which rows belong together, and which count once.
#include "harness/judge/audit/audited_step.hpp"

#include <gmock/gmock.h>

#include "harness/judge/audit/norm_rounding.hpp"

namespace plumbline::auditing {
namespace {

using ::testing::ElementsAre;

TensorRow row_of(const std::string& kind, const std::string& name, std::int64_t stage) {
  TensorRow row;
  row.step = 1;
  row.kind = kind;
  row.name = name;
  row.stage = stage;
  return row;
}

/// Two ranks, each with two of four stages: 0 and 3, 1 and 2.
class AuditedStepOf : public ::testing::Test {
 protected:
  AuditedStepOf() {
    record_.ranks.resize(2);
    record_.ranks[0].tensors = {row_of("parameter", "embed", 0), row_of("gradient", "embed", 0),
                                row_of("gradient", "head", 3)};
    record_.ranks[1].rank = 1;
    record_.ranks[1].tensors = {row_of("moment1", "layer", 1), row_of("gradient", "layer", 1),
                                row_of("gradient", "copy", 2), row_of("gradient", "layer", 2)};
    before_ = record_.ranks;
  }
  AuditedStep step() const { return {record_, 1, before_, rows_before_}; }
  std::vector<std::string> counted() const {
    std::vector<std::string> names;
    for (const auto& [rank, row] : gradients_once(record_))
      names.push_back(std::to_string(rank) + " " + row->kind + " " + row->name + " " + std::to_string(row->stage));
    return names;
  }

  Record record_;
  std::vector<RankRecord> before_;
  std::vector<RowsBefore> rows_before_ = {{}, {.steps = 5, .tensors = 7, .boundaries = 9}};
};

TEST_F(AuditedStepOf, AGradientCountsOnceAndNothingElseDoes) {
  EXPECT_THAT(counted(),
              ElementsAre("0 gradient embed 0", "0 gradient head 3", "1 gradient layer 1", "1 gradient copy 2"));
}

TEST_F(AuditedStepOf, OfATiedWeightTheEmbeddingsGradientCounts) {
  for (RankRecord& rank : record_.ranks)
    for (TensorRow& row : rank.tensors)
      if (row.name == "embed") row.name = "model.embed_tokens.weight";
  record_.manifest.tied = {{"head", "model.embed_tokens.weight", "copy"}};
  EXPECT_THAT(counted(), ElementsAre("0 gradient model.embed_tokens.weight 0", "1 gradient layer 1"));
}

TEST_F(AuditedStepOf, OfATiedWeightOfOtherNamesTheFirstGradientCounts) {
  record_.manifest.tied = {{"absent", "embed", "copy"}};
  EXPECT_THAT(counted(), ElementsAre("0 gradient embed 0", "0 gradient head 3", "1 gradient layer 1"));
}

TEST_F(AuditedStepOf, RowsOfARankStandBehindThoseOfTheStepsBefore) {
  const AuditedStep walked = step();
  ASSERT_EQ(walked.tensors().size(), 7U);
  EXPECT_EQ(walked.tensors()[2].index, 2U);
  const TensorPlace& moment = walked.tensors()[3];
  EXPECT_EQ(moment.index, 7U) << "the first row of rank 1, behind 7";

  const Finding finding = at_tensor(moment, "first moment", "1", "2", "why");
  EXPECT_EQ(finding.source, "rank-1/tensors.csv:9") << "behind the header, counted from 1";
  EXPECT_EQ(finding.step, 1);
  EXPECT_EQ(finding.rank, 1);
  EXPECT_EQ(finding.stage, 1);
  EXPECT_EQ(finding.item, "first moment");
  EXPECT_EQ(finding.level, part::parameter);
  const Finding of_gradient = at_tensor(walked.tensors()[2], "norm", "1", "2", "why");
  EXPECT_EQ(of_gradient.rank, 0);
  EXPECT_EQ(of_gradient.stage, 3);
  EXPECT_EQ(of_gradient.level, part::gradient);
}

TEST_F(AuditedStepOf, WhatStandsBesideARowIsOfItsNameRankAndStage) {
  const AuditedStep walked = step();
  const TensorPlace& first = walked.tensors()[4];   // layer on stage 1
  const TensorPlace& second = walked.tensors()[6];  // layer on stage 2, by the same rank
  EXPECT_EQ(walked.row_like("moment1", first), &record_.ranks[1].tensors[0]);
  EXPECT_EQ(walked.row_like("moment1", second), nullptr);
  EXPECT_EQ(walked.row_like("parameter", first), nullptr);
  EXPECT_EQ(walked.before("gradient", second), &before_[1].tensors[3]);
  before_[1].tensors.resize(3);
  EXPECT_EQ(step().before("gradient", second), nullptr);
}

}  // namespace
}  // namespace plumbline::auditing
