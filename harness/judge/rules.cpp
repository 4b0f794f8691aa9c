#include "harness/judge/rules.hpp"

#include <algorithm>

#include "harness/judge/expected/stage_map.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline::judging {
namespace {

std::optional<std::string> no_empty_stage(const CellPlan& plan, const Manifest& candidate) {
  const auto& stages = plan.request && plan.request->stages ? *plan.request->stages : candidate.stages;
  for (const auto& stage : stages) {
    if (holds_no_layer(stage, stages)) return std::nullopt;
  }
  return "every stage of this partition holds a layer";
}

std::optional<std::string> equal_lengths_asked_for(const CellPlan& plan, const Manifest& candidate) {
  std::int64_t microbatches = candidate.microbatches;
  if (plan.request && plan.request->microbatches) {
    microbatches = std::ssize(*plan.request->microbatches);
  } else if (plan.request) {
    microbatches = plan.request->microbatch_count.value_or(microbatches);
  }
  if (microbatches == 1) return "a step has one microbatch: its length cannot vary";
  if (asks_for_equal_lengths(plan)) return "the sweep asks for equal lengths in this cell";
  return std::nullopt;
}

std::optional<std::string> not_gone_on_with(const CellPlan& plan, const Manifest& candidate) {
  if (candidate.first_step > 0 || (plan.request && plan.request->first_step.value_or(0) > 0)) return std::nullopt;
  return "the run began with step 0";
}

std::optional<std::string> one_pipeline(const CellPlan&, const Manifest& candidate) {
  if (candidate.mesh && candidate.mesh->replicas.size() > 1) return std::nullopt;
  return "one pipeline trained, and none beside it";
}

std::optional<std::string> no_repeat_asked_for(const CellPlan& plan, const Manifest&) {
  if (plan.repeat) return std::nullopt;
  return "the sweep repeats other cells, not this one";
}

}  // namespace

const std::vector<Rule>& all_rules() {
  constexpr auto full = RecordLevel::full;
  constexpr auto always = Required::always;
  constexpr auto before_update = BehindNorm::gradients;
  const std::vector<std::string> boundary_rows = {"sends", "receives", "boundaries"}, data = {"inputs", "labels"},
                                 state = {"parameters", "moments"};
  static const std::vector<Rule> rules = {
      {.check = "as_asked", .required = always},
      {.check = "completion", .required = always},
      {.check = "data", .needs = data, .make = data_check},
      {.check = "census", .level = full, .needs = {"parameters"}, .make = census_check},
      {.check = "loss",
       .same_start = true,
       .behind_norm = before_update,
       .compares_without = {"losses"},
       .make = loss_check},
      {.check = "boundaries",
       .level = full,
       .same_start = true,
       .behind_norm = before_update,
       .compares_without = boundary_rows,
       .make = boundaries_check},
      {.check = "gradients",
       .level = full,
       .same_start = true,
       .behind_norm = before_update,
       .compares_without = {"gradients"},
       .make = gradients_check},
      {.check = "nonzero_gradients",
       .level = full,
       .same_start = true,
       .needs = {"gradients"},
       .needs_of_reference = data,
       .make = nonzero_gradients_check},
      {.check = "gradient_norm",
       .same_start = true,
       .behind_norm = before_update,
       .needs = {"norm"},
       .make = gradient_norm_check},
      {.check = "parameters",
       .level = full,
       .behind_norm = BehindNorm::nothing,
       .compares_without = {"parameters", "moments", "rates"},
       .make = parameters_check},
      {.check = "evaluation",
       .same_start = true,
       .of_evaluations = true,
       .behind_norm = BehindNorm::nothing,
       .make = evaluation_check},
      {.check = "audit", .level = full, .make = audit_check},
      {.check = "empty_partitions",
       .level = full,
       .needs_of_reference = data,
       .compares_without = boundary_rows,
       .not_applicable = no_empty_stage,
       .make = empty_partitions_check},
      {.check = "variable_lengths",
       .level = full,
       .required = Required::on_bench_alone,
       .needs_of_reference = data,
       .compares_without = boundary_rows,
       .not_applicable = equal_lengths_asked_for,
       .make = variable_lengths_check},
      {.check = "memory",
       .external_may_lack = true,
       .one_device_reference = true,
       .needs_of_reference = data,
       .compares_without = {"actions", "schedule"},
       .make = memory_check},
      {.check = "conformance",
       .external_may_lack = true,
       .compares_without = {"actions", "schedule"},
       .make = conformance_check},
      {.check = "resume",
       .level = full,
       .needs = state,
       .compares_without = data,
       .not_applicable = not_gone_on_with,
       .make = resume_check},
      {.check = "replicas",
       .level = full,
       .external_may_lack = true,
       .needs = state,
       .not_applicable = one_pipeline,
       .make = replicas_check},
      {.check = "repeatability",
       .beyond_the_run = true,
       .not_applicable = no_repeat_asked_for,
       .make = repeatability_check},
  };
  return rules;
}

const Rule& rule_of(const std::string& check) {
  for (const auto& rule : all_rules()) {
    if (rule.check == check) return rule;
  }
  std::vector<std::string> names;
  for (const auto& rule : all_rules()) names.push_back(rule.check);
  const auto nearest = nearest_word(check, names);
  throw InputError("no check is called `" + check + "`" +
                   (nearest ? "; did you mean `" + *nearest + "`?" : "; there are " + join(names, ", ")));
}

bool asked_for(const CellPlan& plan, const std::string& check) {
  return plan.checks.empty() || std::find(plan.checks.begin(), plan.checks.end(), check) != plan.checks.end();
}

Requirement requirement_of(const CellPlan& plan, const CheckResult& result) {
  if (result.outcome == Outcome::not_applicable) return Requirement::not_applicable;
  const Required required = rule_of(result.name).required;
  if (required == Required::always) return Requirement::required;
  if (!asked_for(plan, result.name)) return Requirement::told;
  return required == Required::on_bench_alone && !plan.bench ? Requirement::told : Requirement::required;
}

std::string why_not_recorded(const Rule& rule, const Manifest& reference, const Manifest& candidate,
                             bool could_compare) {
  std::vector<std::string> sentences;
  const auto look = [&](const Manifest& manifest, bool of_reference) {
    std::vector<std::string> unseen;
    for (const auto& kind : kinds_of_rows()) {
      const auto named = [&](const std::vector<std::string>& kinds) {
        return std::ranges::find(kinds, kind) != kinds.end();
      };
      const bool needed = named(rule.needs) || (of_reference && named(rule.needs_of_reference)) ||
                          (could_compare && named(rule.compares_without));
      if (needed && !manifest.recorded({kind})) unseen.push_back(kind);
    }
    if (unseen.empty()) return;
    const std::string torch = manifest.version_of("torch");
    const std::string sentence =
        "the recorder could not see " + join(unseen, ", ") + (torch.empty() ? "" : " with torch " + torch);
    if (std::ranges::find(sentences, sentence) == sentences.end()) sentences.push_back(sentence);
  };
  look(candidate, false);
  look(reference, true);
  return join(sentences, "; ");
}

bool lacks_what_externals_may(const CheckResult& result) {
  return result.outcome == Outcome::not_run && rule_of(result.name).external_may_lack;
}

}  // namespace plumbline::judging
