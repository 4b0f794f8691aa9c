// SPDX-License-Identifier: BSD-3-Clause
// Records of earlier versions, which must remain readable with the same verdict.
#include <gmock/gmock.h>

#include "harness/commands/compare.hpp"
#include "record/record.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

const std::filesystem::path frozen = std::filesystem::path(PLUMBLINE_FIXTURES).parent_path() / "tests/frozen_records";

class FrozenRecords : public ::testing::TestWithParam<int> {
 protected:
  std::filesystem::path schema() const { return frozen / ("schema-" + std::to_string(GetParam())); }
};

TEST_P(FrozenRecords, OurOwnHold) {
  const auto verdict = compare_records(schema() / "reference", schema() / "pipeline", std::nullopt);

  EXPECT_EQ(read_record(schema() / "pipeline").manifest.schema, GetParam());
  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_EQ(result_of(verdict, "memory").outcome, Outcome::holds);
  EXPECT_EQ(result_of(verdict, "conformance").outcome, Outcome::holds);
}

TEST_P(FrozenRecords, ThoseOfAnotherWriterHold) {
  const auto verdict = compare_records(schema() / "external-reference", schema() / "external", std::nullopt);

  EXPECT_EQ(read_record(schema() / "external").manifest.schema, GetParam());
  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
}

INSTANTIATE_TEST_SUITE_P(Schema, FrozenRecords, ::testing::Values(1, 2));

TEST(FrozenRecordsTogether, ARecordOfTheFirstSchemaIsComparedWithOneOfTheSecond) {
  const auto verdict = compare_records(frozen / "schema-1/reference", frozen / "schema-2/pipeline", std::nullopt);

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
}

}  // namespace
}  // namespace plumbline::testing
