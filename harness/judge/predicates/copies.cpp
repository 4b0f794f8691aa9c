// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <set>
#include <tuple>

#include "harness/judge/comparability.hpp"
#include "harness/judge/facts/excuses.hpp"
#include "harness/judge/predicates/predicates.hpp"

namespace plumbline::predicates {
namespace {

using BoundaryPlace = Placed<BoundaryRow>;

Finding at_boundary(const BoundaryPlace& place, const std::string& expected, const std::string& got,
                    const std::string& why) {
  const BoundaryRow& row = *place.row;
  return at_row(place, row.direction == "forward" ? part::forward : part::backward,
                fmt::format("{} boundary {}, side {}", row.direction, row.cut, row.side), expected, got, why);
}

}  // namespace

void received_as_sent(const RecordStep& step, Report& report) {
  using Crossing =
      std::tuple<std::int64_t, std::string, std::string, std::optional<std::int64_t>, std::optional<std::int64_t>>;
  std::map<Crossing, BoundaryPlace> sent;
  const auto crossing = [](const BoundaryRow& row) {
    return Crossing{row.microbatch, row.direction, row.cut, row.from_stage, row.to_stage};
  };
  for (const BoundaryPlace& place : step.boundaries()) {
    if (place.row->side == "send") sent.emplace(crossing(*place.row), place);
  }
  const bool sends_recorded = judging::recorded_throughout(step.record(), {"sends", "boundaries"});
  for (const BoundaryPlace& place : step.boundaries()) {
    if (place.row->side != "receive") continue;
    const auto found = sent.find(crossing(*place.row));
    if (found == sent.end()) {
      if (sends_recorded)
        report.findings.push_back(at_boundary(place, "a send", "none", "no rank sent what was received"));
      continue;
    }
    report.count("crossings");
    const BoundaryRow& from = *found->second.row;
    if (from.digest != place.row->digest) {
      report.findings.push_back(
          at_boundary(place, from.digest, place.row->digest, "what was received is not what was sent"));
    }
    sent.erase(found);
  }
  if (!judging::recorded_throughout(step.record(), {"receives", "boundaries"})) return;
  for (const auto& [key, place] : sent) {
    report.findings.push_back(at_boundary(place, "a receive", "none", "no rank received what was sent"));
  }
}

void tied_copies_are_equal(const RecordStep& step, Report& report) {
  // Each rounds its own; where bits are compared the check tied_weights finds them.
  if (judging::several_gpu_models(step.manifest())) return;
  for (const auto& names : step.manifest().tied) {
    const std::set<std::string> copies(names.begin(), names.end());
    std::map<std::string, const TensorRow*> first;
    for (const auto& place : step.tensors()) {
      if (!copies.contains(place.row->name)) continue;
      const auto [found, fresh] = first.emplace(place.row->kind, place.row);
      if (fresh) continue;
      report.count("numbers");
      if (found->second->digest == place.row->digest) continue;
      report.findings.push_back(at_tensor(place, found->second->digest, place.row->digest,
                                          fmt::format("it is tied to {} and has other bits", found->second->name)));
    }
  }
}

}  // namespace plumbline::predicates
