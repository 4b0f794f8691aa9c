// SPDX-License-Identifier: BSD-3-Clause
// Records of earlier commits must remain readable, with the same verdict.
#include <gmock/gmock.h>

#include "harness/commands/compare.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/paths.hpp"

namespace plumbline::testing {
namespace {

const std::filesystem::path frozen = std::filesystem::path(source_path()) / "tests/frozen_records";

TEST(FrozenRecords, OurRecordsHold) {
  const auto verdict = compare_records(frozen / "reference", frozen / "pipeline", std::nullopt);

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_EQ(result_of(verdict, "memory").outcome, Outcome::holds);
  EXPECT_EQ(result_of(verdict, "conformance").outcome, Outcome::holds);
}

TEST(FrozenRecords, ExternalRecordsHold) {
  const auto verdict = compare_records(frozen / "external-reference", frozen / "external", std::nullopt);

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
}

}  // namespace
}  // namespace plumbline::testing
