// SPDX-License-Identifier: BSD-3-Clause
// A fault at a place, trained and judged as in a sweep, and the expected result. canary_test and sites_test have tables
// of canaries.
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
  std::string check = {};  ///< empty: the whole case holds
  // the place of the check's first divergence; empty values are not compared
  std::optional<std::int64_t> step = {};
  std::optional<std::int64_t> microbatch = {};
  std::string direction = {};
  std::string item = {};
  std::vector<std::string> still_hold = {};  ///< checks that must not fail
  std::string output = {};      ///< part of the trainer's error, if it detects the fault itself and exits with code 1
  std::int64_t resume_at = 0;   ///< the fault is in resuming a run that stopped there
  bool of_the_verdict = false;  ///< the place must be the verdict's first divergence
  std::optional<std::int64_t> rank = {};
};

std::string canary_name(const ::testing::TestParamInfo<Canary>& tested);
void PrintTo(const Canary& canary, std::ostream* out);

class Canaries : public ::testing::TestWithParam<Canary> {};

}  // namespace plumbline
