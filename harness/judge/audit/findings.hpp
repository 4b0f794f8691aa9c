// SPDX-License-Identifier: BSD-3-Clause
// What an audit of one record finds, and what it could not look at.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace plumbline::auditing {

/// Where in the order of a step a number stands.
enum class Place { structure, data, forward, loss, backward, gradient, norm, learning_rate, parameter, evaluation };

/// A recorded number that is not what it must be.
struct Finding {
  Place place = Place::structure;
  std::string file;  ///< within the record: "rank-1/tensors.csv:57", "rank-0/dumps/step-3.safetensors"
  std::int64_t step = 0;
  std::optional<std::int64_t> rank, stage, microbatch;
  std::string item;  ///< "clip_coefficient", "moment1 model.norm.weight", "l2 of gradient lm_head.weight"
  std::string expected, got;
  std::string why;  ///< "the parameter does not follow from ..."; a clause
};

/// "<file>: step 2, moment1 ...: <why> (expected ..., got ...)".
std::string words_of(const Finding& finding);

/// Of one kind of parameter ("layers.*.mlp.up_proj.weight"), over all steps: in how many elements each mistake would
/// show, because what it leaves there is none of the numbers that are admitted.
struct Power {
  std::int64_t elements = 0;                  ///< looked at, each in each step
  std::map<std::string, std::int64_t> tells;  ///< by mistake; only of mistakes that this run could make
};

struct Audit {
  std::vector<Finding> findings;
  std::map<std::string, std::int64_t> recomputed;  ///< numbers, elements, ...: how much was held to a formula
  std::vector<std::string> not_audited;            ///< what was not, with the reason
  std::map<std::string, Power> power;              ///< by kind of parameter; empty where nothing was dumped
  bool from_values = false;                        ///< dumped values were audited, and not the tables alone

  void count(const std::string& what, std::int64_t number = 1) { recomputed[what] += number; }
};

}  // namespace plumbline::auditing
