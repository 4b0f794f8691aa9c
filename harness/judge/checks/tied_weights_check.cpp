// SPDX-License-Identifier: BSD-3-Clause
// tied_weights: the copies of a tied weight on several stages, in the candidate's record only. So it also judges steps
// that are not compared with the reference in bits: after another start, another norm, and within limits.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/comparability.hpp"
#include "harness/judge/execution_order.hpp"
#include "harness/judge/facts/expected.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

struct CopyPlace {
  std::string name;
  std::int64_t stage = 0, rank = 0;
};

class TiedWeightsCheck : public StepCheck {
 public:
  explicit TiedWeightsCheck(const CellEvidence& evidence)
      : StepCheck(evidence, {"tied_weights", "R5", "0 ULP between the copies"}) {
    for (const auto& names : evidence.candidate.manifest.tied) {
      auto copies = places_of(names);
      if (copies.size() < 2) continue;
      others_ += std::ssize(copies) - 1;
      weights_.push_back(std::move(copies));
    }
  }

  void step(const StepEvidence& now) override {
    if (now.step < 0) {
      at_start_ = evidence_.first_step() > 0 ? state_kinds(now) : parameter_kinds(now);
    } else if (in_step_.empty()) {
      in_step_ = state_kinds(now);
      in_step_.emplace_back("gradient");
    }
    for (const auto& copies : weights_) {
      for (const auto& kind : now.step < 0 ? at_start_ : in_step_) compare(now, copies, kind);
    }
  }

  LocatedResult conclude() override {
    const auto absent = builder_.count("absent_copies");
    if (absent > 0) builder_.not_shown("copies without a row");
    const auto least = others_ * (std::ssize(at_start_) + std::ssize(in_step_) * evidence_.steps()) - absent;
    return builder_.conclude(fmt::format("all copies of a tied weight have the same bits at the start and after {}, "
                                         "and so have their gradients and moments",
                                         quantity(evidence_.steps(), "step")),
                             {{"tied_copies", std::max<std::int64_t>(1, least)}});
  }

 private:
  std::vector<CopyPlace> places_of(std::vector<std::string> names) const {
    const auto position = [&](const std::string& name) { return evidence_.model.parameter_position(name); };
    std::ranges::sort(names, {}, position);
    std::vector<CopyPlace> places;
    for (const auto& name : names) {
      if (!position(name)) continue;
      const std::string& unit = evidence_.model.parameters[static_cast<std::size_t>(*position(name))].unit;
      for (const auto& stage : evidence_.stages.stages) {
        if (std::ranges::find(stage.units, unit) != stage.units.end())
          places.push_back({name, stage.stage, stage.rank});
      }
    }
    return places;
  }

  void compare(const StepEvidence& now, const std::vector<CopyPlace>& copies, const std::string& kind) {
    const TensorRow* first = nullptr;
    const CopyPlace* place_of_first = nullptr;
    std::int64_t without = 0;
    for (const CopyPlace& place : copies) {
      const auto& rows = now.candidate_rows.tensors(kind, place.name);
      const auto found = std::ranges::find_if(
          rows, [&](const auto& placed) { return placed.row->stage == place.stage && placed.rank == place.rank; });
      if (found == rows.end()) {
        ++without;
        continue;
      }
      if (!first) {
        first = found->row;
        place_of_first = &place;
        continue;
      }
      builder_.compare("tied_copies");
      if (found->row->digest != first->digest)
        report(now.step, kind, place, *first, *place_of_first, found->row->digest);
    }
    if (without > 0) builder_.inspect("absent_copies", std::min(without, std::ssize(copies) - 1));
  }

  void report(std::int64_t step, const std::string& kind, const CopyPlace& place, const TensorRow& first,
              const CopyPlace& place_of_first, const std::string& got) {
    const auto position = position_of(evidence_.model, evidence_.candidate.manifest, kind, place.name);
    builder_.diverge(tensor_point(step, kind, position, place.stage),
                     {.level = kind == "gradient" ? "R3" : "R5",
                      .step = step,
                      .stage = place.stage,
                      .rank = place.rank,
                      .item = place.name,
                      .what = kind + " " + place.name,
                      .expected = first.digest,
                      .got = got,
                      .why = fmt::format("the copies of the tied weight differ: {} on stage {}, rank {} has other bits",
                                         place_of_first.name, place_of_first.stage, place_of_first.rank)});
  }

  std::vector<std::vector<CopyPlace>> weights_;  ///< of each its copies
  std::int64_t others_ = 0;                      ///< copies that are compared with the first of their weight
  std::vector<std::string> at_start_, in_step_;  ///< kinds of rows; known from the first step on
};

/// By the units in the manifest; false if they do not determine it.
bool on_one_stage(const Manifest& manifest, const std::vector<std::string>& names) {
  if (manifest.stages.size() < 2) return true;
  std::set<std::int64_t> stages;
  return std::ranges::all_of(names, [&](const std::string& name) {
    bool placed = false;
    for (const auto& stage : manifest.stages) {
      for (const auto& unit : stage.units) {
        if (!name.starts_with(unit + ".") && !name.starts_with("model." + unit + ".")) continue;
        placed = true;
        stages.insert(stage.stage);
      }
    }
    return placed && stages.size() == 1;
  });
}

std::optional<std::string> no_copies(const CellPlan& plan, const Manifest& candidate) {
  if (candidate.tied.empty()) return "the model has no tied weights";
  if (std::ranges::all_of(candidate.tied, [&](const auto& names) { return on_one_stage(candidate, names); }))
    return "one stage holds both uses of each tied weight";
  if (plan.calibration && several_gpu_models(candidate))
    return "GPUs of several models round differently: each copy is compared within its own limit";
  return std::nullopt;
}

}  // namespace

CheckDescriptor tied_weights_check() {
  return {.name = "tied_weights",
          .claims =
              "all copies of a tied weight have the same bits: the parameter at the start and after each step, each "
              "optimizer moment, and the gradient, which is the sum of all uses.",
          .needs_in_words =
              "copies of a tied weight on several stages. It compares the candidate with itself: bits in the mode "
              "`calibrated`, too (except on GPUs of several models).",
          .cannot_see =
              "copies that are all wrong in the same way (`gradients`, `parameters`); copies within one stage "
              "(`audit`).",
          .level = RecordLevel::full,
          .compares_without = {"parameters", "gradients", "moments"},
          .not_applicable = no_copies,
          .make = make_check<TiedWeightsCheck>};
}

}  // namespace plumbline::judging
