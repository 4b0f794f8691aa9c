// SPDX-License-Identifier: BSD-3-Clause
// A fault at a place, trained and judged as a sweep judges it, and what is expected of that: the test of every table of
// such (canary_test, sites_test).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace plumbline {

struct Canary {
  std::string name = {};
  std::string fault = {};  ///< empty: no fault
  std::string run = "canary-untied";
  int world = 3;
  std::string schedule = "1f1b";
  std::string check = {};  ///< empty: the whole cell holds
  // the place of the check's first divergence; what is empty is not asked for
  std::optional<std::int64_t> step = {};
  std::optional<std::int64_t> microbatch = {};
  std::string direction = {};
  std::string item = {};
  std::vector<std::string> still_hold = {};  ///< checks the fault must not touch
  std::string said = {};        ///< by the trainer, of a fault that it sees itself and ends for with code 1
  std::int64_t resume_at = 0;   ///< the fault is in going on with a run that was stopped there
  bool of_the_verdict = false;  ///< and nothing diverged before that place
  std::optional<std::int64_t> rank = {};
};

std::string canary_name(const ::testing::TestParamInfo<Canary>& tested);
void PrintTo(const Canary& canary, std::ostream* out);

class Canaries : public ::testing::TestWithParam<Canary> {};

}  // namespace plumbline
