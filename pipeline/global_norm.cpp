// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/global_norm.hpp"

#include <sstream>
#include <stdexcept>
#include <string>

#include "support/numbers.hpp"

namespace plumbline {
namespace {

std::string to_lines(const std::vector<ParameterNorm>& norms) {
  std::string lines;
  for (const ParameterNorm& each : norms) lines += each.name + ' ' + to_text(each.norm) + '\n';
  return lines;
}

void append_lines(const std::string& lines, std::vector<ParameterNorm>& norms) {
  std::istringstream in(lines);
  for (std::string name, number; in >> name >> number;) {
    const auto norm = parse_double(number);
    if (!norm) throw std::logic_error("the norm of " + name + " came as \"" + number + "\"");
    norms.push_back({name, *norm});
  }
}

}  // namespace

double global_norm(RankGroup& group, const LlamaConfig& config, const std::vector<ParameterNorm>& own, bool counts) {
  if (group.size() == 1) return total_norm(config, own);
  std::string total;
  const std::vector<std::string> gathered = group.gather(counts ? to_lines(own) : "");
  if (group.rank() == 0) {
    std::vector<ParameterNorm> norms;
    for (const std::string& lines : gathered) append_lines(lines, norms);
    total = to_text(total_norm(config, norms));
  }
  return parse_double(group.broadcast(total)).value();
}

}  // namespace plumbline
