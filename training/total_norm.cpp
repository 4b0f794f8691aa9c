// SPDX-License-Identifier: BSD-3-Clause
#include "training/total_norm.hpp"

#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

#include "model/parameter_shapes.hpp"
#include "model/tied_names.hpp"

namespace plumbline {

double total_norm(const LlamaConfig& config, const std::vector<ParameterNorm>& norms) {
  std::map<std::string, double> by_name;
  for (const ParameterNorm& norm : norms) {
    if (!by_name.emplace(norm.name, norm.norm).second) {
      throw std::logic_error("two gradient norms of " + norm.name);
    }
  }
  double sum = 0;
  for (const ParameterShape& shape : parameter_shapes(config)) {
    if (is_tied_head(config, shape.name)) {
      continue;
    }
    const auto found = by_name.find(shape.name);
    if (found == by_name.end()) {
      throw std::logic_error("no gradient norm of " + shape.name);
    }
    sum += found->second * found->second;
    by_name.erase(found);
  }
  if (!by_name.empty()) {
    throw std::logic_error("a gradient norm of " + by_name.begin()->first + ", which the norm does not count");
  }
  return std::sqrt(sum);
}

}  // namespace plumbline
