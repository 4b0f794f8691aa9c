// SPDX-License-Identifier: BSD-3-Clause
// census: every unit of the model is on exactly one stage, and every parameter is on the stage of its unit and nowhere
// else.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/execution_order.hpp"
#include "harness/judge/facts/expected.hpp"
#include "harness/judge/hints/hints.hpp"
#include "record/precision.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

class CensusCheck : public StepCheck {
 public:
  explicit CensusCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"census", "census", "exact: a disjoint cover of the model"}),
        same_units_(units_of(evidence.reference.manifest) == units_of(evidence.candidate.manifest)) {}

  /// Judges only the start.
  void step(const StepEvidence& now) override {
    if (now.step >= 0) return;
    const Manifest &one = evidence_.reference.manifest, &other = evidence_.candidate.manifest;
    units(evidence_.reference_stages, one, "reference");
    parameters(now.reference_rows, evidence_.reference_stages, one, "reference");
    tied(one, "reference");
    frozen(one);  // the candidate agrees, or is not compared
    units(evidence_.stages, other, "candidate");
    parameters(now.candidate_rows, evidence_.stages, other, "candidate");
    tied(other, "candidate");
  }

  LocatedResult conclude() override {
    const auto parameters = static_cast<std::int64_t>(evidence_.model.parameters.size());
    return builder_.conclude(
        fmt::format("{} and {}, each on exactly one stage, as in the manifest",
                    quantity(std::ssize(evidence_.model.units), "unit"), quantity(parameters, "parameter")),
        {{"parameters", 2 * parameters}, {"units", 2 * static_cast<std::int64_t>(evidence_.model.units.size())}});
  }

 private:
  static std::multiset<std::string> units_of(const Manifest& manifest) {
    std::multiset<std::string> units;
    for (const StageEntry& stage : manifest.stages) units.insert(stage.units.begin(), stage.units.end());
    return units;
  }
  /// A model without a head usually has a tied one, which its config does not state.
  std::string head_hint(const std::string& name) const {
    const bool untied_head = evidence_.model.has_sizes() && !evidence_.model.tied && name.starts_with("lm_head");
    return untied_head ? "; if the head shares the embedding's weight, set tie_word_embeddings = true in the "
                         "model's config and name both in tied="
                       : "";
  }

  void units(const StageMap& map, const Manifest& manifest, const std::string& whose) {
    std::vector<std::string> listed;
    for (const auto& stage : map.stages) {
      builder_.inspect("stages");
      listed.insert(listed.end(), stage.units.begin(), stage.units.end());
    }
    const auto& model = evidence_.model.units;
    for (std::size_t u = 0; u < model.size(); ++u) {
      const auto times = std::count(listed.begin(), listed.end(), model[u]);
      builder_.compare_or_inspect(&manifest == &evidence_.candidate.manifest, "units");
      if (times == 0)
        report(whose, model[u], u, {}, "one stage", "none",
               fmt::format("{} is on no stage{}{}", model[u], head_hint(model[u]), advice(manifest, Advice::names)));
      if (times > 1)
        report(whose, model[u], u, {}, "one stage", std::to_string(times),
               fmt::format("{} is on {} stages{}", model[u], times, advice(manifest, Advice::names)));
    }
    for (const auto& unit : listed) {
      if (!evidence_.model.unit_position(unit))
        report(whose, unit, 0, {}, "a unit of the model", unit,
               unit + " is not a unit of this model" + advice(manifest, Advice::names));
    }
    if (!builder_.diverged() && listed != model) {
      report(whose, "stages", 0, {}, join(model, ", "), join(listed, ", "),
             "the units are not in the order of the model" + advice(manifest, Advice::units));
    }
  }

  /// A rank lists at step -1 exactly the parameters of its units, each once.
  void parameters(const RecordIndex& rows, const StageMap& map, const Manifest& manifest, const std::string& whose) {
    std::int64_t matched = 0;
    for (std::size_t i = 0; i < evidence_.model.parameters.size(); ++i) {
      const auto& parameter = evidence_.model.parameters[i];
      const auto unit = static_cast<std::size_t>(evidence_.model.unit_position(parameter.unit).value_or(0));
      const auto stage = map.stage_of(parameter.unit);
      if (!stage) continue;  // reported with its unit
      const auto& found = rows.tensors("parameter", parameter.name);
      matched += static_cast<std::int64_t>(found.size());
      if (found.size() != 1) {
        report(whose, parameter.unit, unit, {}, "one rank", std::to_string(found.size()),
               fmt::format("{} of {} exists {} times, not once{}{}", parameter.name, parameter.unit, found.size(),
                           found.empty() ? head_hint(parameter.name) : "", advice(manifest, Advice::names)));
        continue;
      }
      const auto& row = *found.front().row;
      builder_.compare_or_inspect(&manifest == &evidence_.candidate.manifest, "parameters");
      const auto rank = map.find(*stage)->rank;
      if (row.stage != *stage || found.front().rank != rank) {
        report(whose, parameter.unit, unit, found.front().rank, fmt::format("stage {}, rank {}", *stage, rank),
               fmt::format("stage {}, rank {}", row.stage, found.front().rank), "place of " + parameter.name);
      }
      const std::string dtype = parameter.dtype.empty() ? trained_dtype(manifest.dtype) : parameter.dtype;
      if (row.shape != parameter.shape || row.dtype != dtype) {
        report(whose, parameter.unit, unit, found.front().rank,
               fmt::format("{} {}", shape_text(parameter.shape), dtype),
               fmt::format("{} {}", shape_text(row.shape), row.dtype), "shape and dtype of " + parameter.name);
      }
    }
    for (const auto& placed : rows.all_tensors()) {
      const auto& row = *placed.row;
      if (row.kind != "parameter" || evidence_.model.parameter_position(row.name)) continue;
      report(whose, row.name, 0, placed.rank, "no such parameter", row.name,
             row.name + " is not a parameter of this model" + advice(manifest, Advice::names));
    }
    if (matched == 0) report(whose, "parameters", 0, {}, "initial parameters", "none", "step -1 lists no parameters");
  }

  void frozen(const Manifest& manifest) {
    for (const auto& name : manifest.frozen) {
      if (!evidence_.model.parameter_position(name))
        report("frozen in manifest.json", name, evidence_.model.units.size(), {}, "a parameter", name,
               name + " is not a parameter of this model");
    }
  }

  static std::set<std::set<std::string>> groups(const Manifest& manifest) {
    std::set<std::set<std::string>> all;
    for (const auto& names : manifest.tied) all.emplace(names.begin(), names.end());
    return all;
  }

  void tied(const Manifest& manifest, const std::string& whose) {
    if (!evidence_.model.has_sizes()) {
      const Manifest& reference = evidence_.reference.manifest;
      if (groups(manifest) != groups(reference))
        report(whose, "tied", evidence_.model.units.size(), {}, json_text(reference.tied), json_text(manifest.tied),
               "tied weights of the manifest" + advice(manifest, Advice::tied));
      return;
    }
    const bool listed = std::any_of(manifest.tied.begin(), manifest.tied.end(), [](const auto& names) {
      return std::find(names.begin(), names.end(), "lm_head.weight") != names.end() &&
             std::find(names.begin(), names.end(), "model.embed_tokens.weight") != names.end();
    });
    if (listed == evidence_.model.tied && manifest.tied.size() == (evidence_.model.tied ? 1U : 0U)) return;
    report(whose, "tied", evidence_.model.units.size(), {},
           evidence_.model.tied ? "lm_head with embed_tokens" : "nothing tied", json_text(manifest.tied),
           "tied weights of the manifest");
  }

  void report(const std::string& whose, const std::string& item, std::size_t position, std::optional<std::int64_t> rank,
              const std::string& expected, const std::string& got, const std::string& words) {
    const auto at = static_cast<std::int64_t>(position);
    builder_.diverge(same_units_ ? off_path(-1, OffPath::whole_record, 0, at) : at_structure(Structure::census, at),
                     {.step = -1,
                      .rank = rank,
                      .item = item,
                      .expected = expected,
                      .got = got,
                      .words = fmt::format("{}: {} (expected {}, got {})", whose, words, expected, got)});
  }

  bool same_units_;  ///< both records have the same units; if they are ordered or grouped differently, values are more
                     ///< specific
};

}  // namespace

CheckDescriptor census_check() {
  return {.name = "census",
          .claims =
              "the stages cover the model without overlap, and every parameter exists once, on its unit's stage, with "
              "the right shape and dtype.",
          .cannot_see = "values.",
          .level = RecordLevel::full,
          .needs = {"parameters"},
          .make = make_check<CensusCheck>};
}

}  // namespace plumbline::judging
