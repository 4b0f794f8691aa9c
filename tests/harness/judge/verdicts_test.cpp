// SPDX-License-Identifier: BSD-3-Clause
// The verdict of each case of tests/approved/verdicts.
#include <gmock/gmock.h>

#include "tests/approved.hpp"
#include "tests/harness/judge/changed_records.hpp"

namespace plumbline::testing {
namespace {

class Verdicts : public ::testing::TestWithParam<const char*> {};

TEST_P(Verdicts, AreAsApproved) {
  expect_answers(std::string("verdicts/") + GetParam() + ".txt", verdict_of_changes);
}

INSTANTIATE_TEST_SUITE_P(Checks, Verdicts,
                         ::testing::Values("as_asked", "boundaries", "census", "completion", "conformance", "data",
                                           "evaluation", "gradients", "hints", "memory", "norm", "norm_by_rank",
                                           "not_recorded", "other_records", "places", "parameters", "replicas",
                                           "resume", "repeatability", "tied_weights"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace plumbline::testing
