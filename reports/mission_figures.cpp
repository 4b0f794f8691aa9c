// SPDX-License-Identifier: BSD-3-Clause
#include "reports/mission_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/words.hpp"

namespace plumbline {
namespace {

std::int64_t figure(const CellVerdict& cell, const std::string& what) {
  for (const CheckResult& check : cell.checks) {
    if (const auto found = check.evidence.find(what); found != check.evidence.end()) return found->second;
  }
  return 0;
}

std::string or_dash(std::int64_t number, const std::string& text) {
  return number > 0 ? text : "-";
}

}  // namespace

std::vector<MissionFigures> mission_figures(const Verdict& verdict) {
  std::map<std::int64_t, MissionFigures> by_world;
  for (const CellVerdict& cell : verdict.cells) {
    MissionFigures& of = by_world[cell.world];
    of.world = cell.world;
    ++of.cases;
    of.empty_crossings += figure(cell, "crossings_of_empty_stages");
    of.lengths = std::max(of.lengths, figure(cell, "lengths_in_a_step"));
    of.parameters = std::max(of.parameters, figure(cell, "parameters"));
    of.heads += figure(cell, "lm_head.weight");
    of.peak_permille = std::max(of.peak_permille, figure(cell, "activation_peak_permille_of_model"));
  }
  std::vector<MissionFigures> rows;
  for (const auto& [world, figures] : by_world) rows.push_back(figures);
  return rows;
}

std::vector<std::string> figure_texts(const MissionFigures& of) {
  return {grouped(of.cases),
          or_dash(of.empty_crossings, grouped(of.empty_crossings)),
          or_dash(of.lengths, grouped(of.lengths)),
          or_dash(of.parameters, grouped(of.parameters)),
          or_dash(of.heads, fmt::format("{} of {} cases", of.heads, of.cases)),
          or_dash(of.peak_permille, fmt::format("{:.1f} %", static_cast<double>(of.peak_permille) / 10))};
}

const std::vector<std::string>& figure_heads() {
  static const std::vector<std::string> heads = {"cases",
                                                 "tensors compared at empty stages",
                                                 "sequence lengths in a step",
                                                 "parameters with a finite nonzero gradient",
                                                 "lm_head among them",
                                                 "largest activation peak / predicted"};
  return heads;
}

}  // namespace plumbline
