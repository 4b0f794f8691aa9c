// SPDX-License-Identifier: BSD-3-Clause
// A fault at a place, trained and judged as in a sweep, and the expected result.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "record/verdict.hpp"

namespace plumbline {

struct Canary {
  std::string name;
  std::string fault;  ///< empty: no fault
  std::string run;
  std::int64_t world = 0;
  std::string schedule;
  std::int64_t resume_at = 0;       ///< the fault is in resuming a run that stopped there
  bool other_instructions = false;  ///< trains with another instruction set
  std::string check;                ///< empty: the whole case holds
  // the place of the check's first divergence; empty values are not compared
  std::optional<std::int64_t> step, microbatch, rank;
  std::string direction, item;
  std::vector<std::string> still_hold;  ///< checks that must not fail
  std::string output;           ///< part of the trainer's error, if it detects the fault itself and exits with code 1
  bool of_the_verdict = false;  ///< the place must be the verdict's first divergence

  bool is_at(const Finding& place) const;
};

/// The lines of tests/mutant/`file`: a name and `key=value`s, which are the fields above; a value goes on to the next
/// key.
std::vector<Canary> read_canaries(const std::string& file);

std::string canary_name(const ::testing::TestParamInfo<Canary>& tested);
void PrintTo(const Canary& canary, std::ostream* out);

const CheckResult& find(const CellVerdict& verdict, std::string_view check);

}  // namespace plumbline
