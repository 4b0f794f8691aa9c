// SPDX-License-Identifier: BSD-3-Clause
// What is wrong in a record or between two: where, what, expected and got, and why. One type and one sentence for
// checks, recomputation, verdicts and reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plumbline {

struct Finding {
  std::string claim = {};  ///< the check of a verdict that found it
  std::string level = {};  ///< R1 ... R5, or the name of a structural check; in a recomputation the part of the step
  std::int64_t step = 0;   ///< -1: the start
  std::optional<std::int64_t> microbatch = {};
  std::optional<std::int64_t> stage = {};
  std::optional<std::int64_t> rank = {};
  std::optional<std::int64_t> replica = {};  ///< of a run with several pipelines
  std::string direction = {};                ///< forward | backward | empty
  std::string source = {};  ///< whose row: "reference", "rank-1/tensors.csv:57"; empty if it is obvious
  std::string item = {};    ///< stage boundary ("layers.3"), tensor name, column, or edge ("rank 0 -> rank 1")
  std::string what = {};    ///< the item in words, if its name alone does not say it: "gradient model.norm.weight"
  std::string expected = {}, got = {};
  std::string why = {};    ///< a clause: "the bits differ"; may be empty
  std::string size = {};   ///< size of the difference, if known: ratios of norms, an element and its ULPs
  std::string words = {};  ///< one sentence for people; empty: words_of() makes it
};

/// "step 2, microbatch 3", "the start" for step -1.
std::string step_words(std::int64_t step, std::optional<std::int64_t> microbatch = std::nullopt);

/// "step 1, microbatch 3, stage 2, rank 2": the parts that are known.
std::string place_in_run(const Finding& finding);

/// "step 1, microbatch 3, stage 2, rank 2, forward, layers.3": the parts that are known.
std::string place_text(const Finding& finding);

/// "reference: step 1, stage 2, rank 2, gradient model.norm.weight: the bits differ (expected ..., got ...)".
std::string words_of(const Finding& finding);

}  // namespace plumbline
