// SPDX-License-Identifier: BSD-3-Clause
// Findings of the recomputation of one record, and what was not covered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace plumbline::auditing {

/// Position of a number in the order of a step.
enum class Place { structure, data, forward, loss, backward, gradient, norm, learning_rate, parameter, evaluation };

/// A recorded number that differs from the recomputed one.
struct Finding {
  Place place = Place::structure;
  std::string file;  ///< relative to the record: "rank-1/tensors.csv:57", "rank-0/dumps/step-3.safetensors"
  std::int64_t step = 0;
  std::optional<std::int64_t> rank, stage, microbatch;
  std::string item;  ///< "clip_coefficient", "moment1 model.norm.weight", "l2 of gradient lm_head.weight"
  std::string expected, got;
  std::string why;  ///< "the parameter does not follow from ..."; a clause
};

/// "<file>: step 2, moment1 ...: <why> (expected ..., got ...)".
std::string words_of(const Finding& finding);

/// For one kind of parameter ("layers.*.mlp.up_proj.weight"), over all steps: the number of elements in which each
/// mistake would be detected, because its result is outside the admitted values.
struct Power {
  std::int64_t elements = 0;                  ///< inspected elements, summed over steps
  std::map<std::string, std::int64_t> tells;  ///< by mistake; only mistakes that are possible in this run
};

struct Audit {
  std::vector<Finding> findings;
  std::map<std::string, std::int64_t> recomputed;  ///< numbers, elements, ...: counts of recomputed values
  std::vector<std::string> not_audited;            ///< what was not recomputed, with the reason
  std::map<std::string, Power> power;              ///< by kind of parameter; empty without dumps
  bool from_values = false;                        ///< dumped values were recomputed, not only tables

  void count(const std::string& what, std::int64_t number = 1) { recomputed[what] += number; }
};

}  // namespace plumbline::auditing
