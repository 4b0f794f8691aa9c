// Where in a step's order differences of memory stand, and how they are told.
#pragma once

#include <cstdint>
#include <string>

#include "harness/judge/evidence/cell_evidence.hpp"
#include "harness/judge/judgement.hpp"

namespace plumbline::judging {

/// Figures of a whole step, in this order before the step's actions.
enum class MemoryPlace : std::int64_t {
  state_of_rank = -10,
  state_of_world,
  buffers,
  owned,
  total_peak,
  leak,
  gpu,
  process,
};

/// "candidate, rank 1, step 2: table_bytes is 4, expected at most 2: <words>".
inline void report_memory(Judgement& judgement, MemoryPlace place, const std::string& whose, std::int64_t step,
                          std::int64_t rank, const std::string& item, const std::string& expected,
                          const std::string& got, const std::string& words) {
  judgement.diverge(beside(step, static_cast<std::int64_t>(place), rank), step, rank, item, expected, got,
                    whose + ", rank " + std::to_string(rank) + ", " + step_words(step) + ": " + item + " is " + got +
                        ", expected " + expected + ": " + words);
}

}  // namespace plumbline::judging
