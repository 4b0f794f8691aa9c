// SPDX-License-Identifier: BSD-3-Clause
// Recomputation from values: the required dumps of a training, and the report about missing ones.
#include <cmath>
#include <cstring>
#include <limits>

#include "record/digest.hpp"
#include "support/numbers.hpp"
#include "tests/harness/judge/audit/audited_values.hpp"

namespace plumbline::testing {
namespace {

TEST_F(AuditedValues, ATensorThatWasNotDumpedIsRedInItsRow) {
  const auto record = write();
  leave_out(record, "rank-1/dumps/step-1.safetensors", "moment2/" + norm_weight);
  const TensorRow& row = tensor_row(trained.run, 1, "moment2", norm_weight);

  expect_one(record, auditing::part::parameter,
             line_of(trained.run, row) + ": step 1, stage 1, rank 1, digest of moment2 model.norm.weight: ",
             "(expected none, got " + row.digest + ")");
}

TEST_F(AuditedValues, AGradientThatWasNotDumpedMakesNoNorm) {
  const auto record = write();
  leave_out(record, "rank-1/dumps/step-1.safetensors", "gradient/" + norm_weight);

  const Audit found = audit_record(record);

  EXPECT_THAT(found.findings, Contains(Field(&Finding::item, "digest of gradient model.norm.weight")));
  EXPECT_THAT(found.findings, Each(Field(&Finding::item, Not("gradient_norm"))));
}

TEST_F(AuditedValues, ATensorWithoutARowIsRed) {
  const auto record = write();
  change_dump(record, "rank-1/dumps/step-1.safetensors", [](Tensors& tensors) {
    tensors["moment2/model.other.weight"] = tensors.at("moment2/" + norm_weight);
    tensors["gradient_after/0/" + norm_weight] = tensors.at("moment2/" + norm_weight);  // is allowed
  });

  expect_one(record, auditing::part::structure,
             "rank-1/dumps/step-1.safetensors: step 1, rank 1, moment2/model.other.weight: the dump holds a tensor",
             "(expected a row of tensors.csv or boundaries.csv, got none)");
}

TEST_F(AuditedValues, ABoundaryThatWasNotDumpedIsRedInItsRow) {
  for (const auto& [direction, level] : {std::pair{std::string("forward"), auditing::part::forward},
                                         std::pair{std::string("backward"), auditing::part::backward}}) {
    const auto record = write();
    const std::string side = direction == "forward" ? "receive" : "send";
    leave_out(record, "rank-1/dumps/step-1.safetensors", "boundary/" + direction + "/3/layers.1/" + side);
    const BoundaryRow& row = boundary_row(trained.run, 1, 3, direction, "layers.1", side);
    const auto line = &row - trained.run.ranks[1].boundaries.data() + 2;

    expect_one(record, level,
               "rank-1/boundaries.csv:" + std::to_string(line) + ": step 1, microbatch 3, rank 1, digest of the " +
                   direction + " boundary layers.1, side " + side,
               "(expected none, got " + row.digest + ")");
  }
}

/// A digest says nothing of the row's other columns.
TEST_F(AuditedValues, ABoundaryOfAnotherShapeThanItsRowSaysIsRed) {
  const auto record = with_tables(write(), [](SyntheticRun& run) {
    for (const char* side : {"send", "receive"}) boundary_row(run, 1, 3, "forward", "layers.1", side).shape = {3, 1, 4};
  });

  const Audit found = audit_record(record);

  ASSERT_THAT(found.findings, SizeIs(2));
  for (const Finding& finding : found.findings) {
    EXPECT_EQ(finding.expected, "float32 1x3x4");
    EXPECT_EQ(finding.got, "float32 3x1x4");
  }
}

TEST_F(AuditedValues, ATensorOfAnotherShapeThanItsRowSaysIsRedInItsShape) {
  const auto record = with_tables(write(), [](SyntheticRun& run) {
    TensorRow& row = tensor_row(run, 1, "moment1", norm_weight);
    row.shape = {2, 2}, row.nonzero_rows = 2;
  });

  const Audit found = audit_record(record);

  EXPECT_THAT(found.findings, Contains(AllOf(Field(&Finding::item, "shape of moment1 model.norm.weight"),
                                             Field(&Finding::expected, "4"), Field(&Finding::got, "2x2"))));
}

/// Told as another shape, and nothing is computed with it.
TEST_F(AuditedValues, ADumpOfFewerElementsThanItsRowSaysIsRedInItsShapeAlone) {
  for (const std::string kind : {"gradient", "parameter", "moment1", "moment2"}) {
    const auto record = write();
    change_dump(record, "rank-1/dumps/step-0.safetensors", [&](Tensors& tensors) {
      SafetensorsEntry& entry = tensors.at(kind + "/" + norm_weight);
      entry.shape = {2}, entry.bytes = entry.bytes.first(8);
    });

    const Audit found = audit_record(record);

    EXPECT_THAT(found.findings, Contains(AllOf(Field(&Finding::item, "shape of " + kind + " " + norm_weight),
                                               Field(&Finding::expected, "2"), Field(&Finding::got, "4"))));
    EXPECT_THAT(found.findings, Each(Field(&Finding::item, Not(HasSubstr("element"))))) << kind;
  }
}

/// 0 nan, 1 inf, and two numbers.
void make_not_finite(std::vector<std::byte>& bytes) {
  const float spoilt[] = {std::nanf(""), -std::numeric_limits<float>::infinity()};
  std::memcpy(bytes.data(), spoilt, sizeof spoilt);
}

TEST_F(AuditedValues, WhatIsNotFiniteIsCountedAndMakesAStatisticOfItsOwn) {
  const auto record = write();
  std::vector<std::byte> bytes;
  change_dump(record, "rank-1/dumps/step-1.safetensors", [&](Tensors& tensors) {
    SafetensorsEntry& entry = tensors.at("moment2/" + norm_weight);
    bytes.assign(entry.bytes.begin(), entry.bytes.end());
    make_not_finite(bytes);
    entry.bytes = bytes;
  });

  const Audit found = audit_record(record);

  const auto tells = [](const std::string& column, const std::string& expected) {
    return Contains(
        AllOf(Field(&Finding::item, column + " of moment2 model.norm.weight"), Field(&Finding::expected, expected)));
  };
  EXPECT_THAT(found.findings, AllOf(tells("nan", "1"), tells("inf", "1"), tells("max_abs", "nan"), tells("l2", "nan")));

  EXPECT_THAT(found.findings,
              Contains(AllOf(Field(&Finding::item, "moment2 model.norm.weight, element 0"), Field(&Finding::stage, 1),
                             Field(&Finding::source, "rank-1/dumps/step-1.safetensors"))))
      << "no update leaves that";

  const auto told = with_tables(record, [&](SyntheticRun& run) {
    TensorRow& row = tensor_row(run, 1, "moment2", norm_weight);
    row.nan = row.inf = 1;
    row.l2 = std::nan("");
    row.max_abs = std::nanf("");
    row.digest = tensor_digest("float32", {4}, bytes);
  });
  EXPECT_THAT(audit_record(told).findings, Each(Field(&Finding::item, Not(HasSubstr(" of moment2")))))
      << "a row that tells it is right, whatever the update made of it";
}

/// The n that (n + 2) 2^-53 counts.
std::int64_t gradient_elements(const SyntheticRun& run) {
  std::int64_t sum = 0;
  for (const RankRecord& rank : run.ranks) {
    for (const TensorRow& row : rank.tensors) {
      std::int64_t elements = row.step == 1 && row.kind == "gradient" ? 1 : 0;
      for (const auto size : row.shape) elements *= size;
      sum += elements;
    }
  }
  return sum;
}

TEST_F(AuditedValues, TheNormIsThatOfTheDumpedGradientsToTheRoundingsOfItsSum) {
  const auto dumped = write();
  const auto with_norm_off = [&](double roundings) {
    return with_tables(dumped, [&](SyntheticRun& run) {
      const auto elements = static_cast<double>(gradient_elements(run));
      for (RankRecord& rank : run.ranks) *rank.steps[1].gradient_norm *= 1 + roundings * (elements + 2) * 0x1p-53;
    });
  };
  expect_none(with_norm_off(0.9));

  const double norm = *trained.run.ranks[0].steps[1].gradient_norm;
  const Audit found = audit_record(with_norm_off(1.1));

  ASSERT_THAT(found.findings, SizeIs(1)) << "below what the table of l2 shows";
  const Finding& finding = found.findings[0];
  EXPECT_EQ(finding.level, auditing::part::norm);
  EXPECT_THAT(words_of(finding),
              StartsWith("rank-0/steps.csv:3: step 1, rank 0, gradient_norm: it is not the norm of"));
  EXPECT_NEAR(parse_double(finding.expected).value_or(0), norm, 1e-14);
  EXPECT_NE(finding.got, finding.expected);
}

TEST_F(AuditedValues, OfAnotherTrainerStatisticsMayBeComputedInAnyWayButForTheNormsOfGradients) {
  const auto dumped = write();
  const auto with_other_l2 = [&](bool of_gradients) {
    return audit_record(with_tables(dumped, [&](SyntheticRun& run) {
      run.manifest["role"] = "external";
      for (TensorRow& row : run.rows(&RankRecord::tensors)) {
        row.max_abs *= 1.001F;
        if (of_gradients || row.kind != "gradient") row.l2 *= 1.001;
      }
    }));
  };
  EXPECT_THAT(with_other_l2(true).findings,
              AllOf(SizeIs(2), Each(Field(&Finding::why, HasSubstr("the root of the sum of l2 squared")))))
      << "once a step";
  const Audit found = with_other_l2(false);

  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.not_audited, ::testing::ElementsAre(HasSubstr("an external trainer may compute these in any way")));
  EXPECT_TRUE(found.from_values);
}

TEST_F(AuditedValues, OfAnotherTrainerANormSummedRankByRankIsHeldWithinTheRoundingsOfItsSum) {
  const auto dumped = write();
  const double norm = *trained.run.ranks[0].steps[1].gradient_norm;  // below the limit: the coefficient is 1
  const auto found = [&](double other, const std::string& order) {
    const auto record = with_tables(dumped, [&](SyntheticRun& run) {
      run.manifest["role"] = "external";
      run.manifest["norm_order"] = order;
      for (RankRecord& rank : run.ranks) rank.steps[1].gradient_norm = other;
    });
    return audit_record(record).findings;
  };
  const auto in_float32 = static_cast<double>(static_cast<float>(norm));

  EXPECT_THAT(found(in_float32, "per_rank"), IsEmpty());
  // 21 tensors, the largest of 32 elements, on 3 ranks, all in float32: sums err by sqrt(32 / 2) + 21 / 2 roundings,
  // what is stored by 1 + 1/2 + 1/2 + sqrt(2) / 2 + 1; of 2^-24: 1.08e-6.
  EXPECT_THAT(found(norm * (1 + 1.0e-6), "per_rank"), IsEmpty());
  EXPECT_THAT(found(norm * (1 + 1.2e-6), "per_rank"), SizeIs(2)) << "by the tables and by the values";
  EXPECT_THAT(found(in_float32, "canonical"), SizeIs(1));
}

TEST_F(AuditedValues, OfAnotherTrainerCountsAreThoseOfItsValues) {
  const auto record = with_tables(write(), [](SyntheticRun& run) {
    run.manifest["role"] = "external";
    tensor_row(run, 1, "moment1", norm_weight).nonzero = 3;
  });

  expect_one(record, auditing::part::parameter,
             line_of(trained.run, tensor_row(trained.run, 1, "moment1", norm_weight)) +
                 ": step 1, stage 1, rank 1, nonzero of moment1",
             "(expected 4, got 3)");
}

TEST_F(AuditedValues, OfAnotherTrainerWithoutANormAndClippingNothingIsMissed) {
  trained.clip_norm = 1e9;  // does not bite
  const auto record = with_tables(write(), [](SyntheticRun& run) {
    run.manifest["role"] = "external";
    run.manifest["clip_norm"] = nullptr;
    for (StepRow& row : run.rows(&RankRecord::steps)) row.gradient_norm.reset(), row.clip_coefficient.reset();
  });
  const Audit found = audit_record(record);

  for (const Finding& finding : found.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_GT(found.recomputed.at("updated_elements"), 0) << "each step's updates, with coefficient 1";
}

TEST_F(AuditedValues, AStepWithoutARateIsNotUpdatedByAnother) {
  const auto record = with_tables(write(), [](SyntheticRun& run) {
    run.manifest["role"] = "external";
    run.manifest["learning_rate_schedule"] = nullptr;
    for (RankRecord& rank : run.ranks) rank.steps[1].learning_rate.reset();
  });
  const Audit found = audit_record(record);

  for (const Finding& finding : found.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_THAT(found.not_audited, Contains(HasSubstr("the manifest has no learning_rate_schedule")));
}

}  // namespace
}  // namespace plumbline::testing
