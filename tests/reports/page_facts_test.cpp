// SPDX-License-Identifier: BSD-3-Clause
// What the first screen says of mode, machine and baseline.
#include <gmock/gmock.h>

#include "reports/page.hpp"
#include "tests/reports/page_sections.hpp"
#include "tests/reports/sample_sweep.hpp"

namespace plumbline {
namespace {

TEST(PageFacts, LimitsAreNotToldAsBits) {
  Verdict verdict = testing::sample_verdict(1);
  EXPECT_EQ(testing::fact_in(testing::rendered_page(verdict), "Mode"), "bits: equal bit for bit");

  verdict.comparison_mode = ComparisonMode::calibrated;
  EXPECT_EQ(testing::fact_in(testing::rendered_page(verdict), "Mode"),
            "calibrated: within measured limits, not in bits");
}

TEST(PageFacts, TheMachineIsToldAsTheTrainersNameIt) {
  Verdict verdict = testing::sample_verdict(1);
  verdict.machine = {{"device", "cuda"},
                     {"machine", {{"cpu_model", "EPYC"}, {"aten_capability", "AVX2"}, {"cores", 4}}},
                     {"versions", {{"libtorch", "2.12"}}}};

  EXPECT_EQ(testing::fact_in(testing::rendered_page(verdict), "Machine"), "cuda, EPYC, AVX2, 4 cores, LibTorch 2.12");
}

TEST(PageFacts, AChangeThatIsAllowedIsToldAsSuch) {
  const Verdict verdict = testing::sample_verdict(1);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  evidence.baseline = BaselineResult{.name = "release",
                                     .holds = true,
                                     .compared = "12 runs",
                                     .changes = {{"bytes", "cell-1", "x"}},
                                     .allowed = {"bytes"},
                                     .reason = "a smaller buffer"};

  EXPECT_EQ(testing::fact_in(make_page(verdict, evidence), "Baseline"), "release: changed as allowed (1 of bytes)");
}

}  // namespace
}  // namespace plumbline
