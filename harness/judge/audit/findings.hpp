// SPDX-License-Identifier: BSD-3-Clause
// Findings of the recomputation of one record, and what was not covered.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "record/finding.hpp"

namespace plumbline::auditing {

/// Parts of a step (Finding::level), by which findings are ordered among those of other checks.
namespace part {
inline constexpr const char *structure = "structure", *data = "data", *forward = "forward", *loss = "loss",
                            *backward = "backward", *gradient = "gradient", *norm = "norm",
                            *learning_rate = "learning_rate", *parameter = "parameter", *evaluation = "evaluation";
}  // namespace part

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
