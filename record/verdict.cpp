// SPDX-License-Identifier: BSD-3-Clause
#include "record/verdict.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

template <class Value>
using Names = std::vector<std::pair<Value, std::string>>;

const Names<Outcome> outcomes = {{Outcome::holds, "holds"},
                                 {Outcome::fails, "fails"},
                                 {Outcome::not_run, "not_run"},
                                 {Outcome::not_applicable, "not_applicable"},
                                 {Outcome::not_triggered, "not_triggered"}};
const Names<Requirement> requirements = {
    {Requirement::required, "required"}, {Requirement::told, "told"}, {Requirement::not_applicable, "not_applicable"}};
const Names<Tier> tiers = {{Tier::bits, "bits"}, {Tier::calibrated, "calibrated"}};
const Names<SecondRun::Outcome> second_runs = {{SecondRun::Outcome::fails_again, "fails_again"},
                                               {SecondRun::Outcome::holds, "holds"},
                                               {SecondRun::Outcome::not_done, "not_done"}};

template <class Value>
std::string name_of(const Names<Value>& names, Value value) {
  for (const auto& [known, name] : names) {
    if (known == value) return name;
  }
  throw std::logic_error("a value without a name");
}

template <class Value>
Value value_of(const Names<Value>& names, const std::string& text, const std::string& what) {
  std::vector<std::string> all;
  for (const auto& [value, name] : names) {
    if (text == name) return value;
    all.push_back(name);
  }
  throw InputError("`" + text + "` is no " + what + "; they are " + join(all, ", "));
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// JSON has neither NaN nor infinity: such a margin is written as null.
Json finite_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}
double finite_or_zero(double value) {
  return std::isfinite(value) ? value : 0.0;
}

/// nlohmann::json writes an empty map as null.
Json object_of(const Counts& counts) {
  return counts.empty() ? Json::object() : Json(counts);
}

Json to_json(const std::optional<FirstDivergence>& divergence) {
  if (!divergence) return nullptr;
  return {{"rung", divergence->rung},
          {"step", divergence->step},
          {"microbatch", or_null(divergence->microbatch)},
          {"stage", or_null(divergence->stage)},
          {"rank", or_null(divergence->rank)},
          {"replica", or_null(divergence->replica)},
          {"direction", divergence->direction},
          {"item", divergence->item},
          {"expected", divergence->expected},
          {"got", divergence->got},
          {"size", divergence->size},
          {"words", divergence->words}};
}

Json to_json(const std::vector<CheckResult>& checks) {
  Json list = Json::array();
  for (const auto& check : checks) {
    list.push_back({{"name", check.name},
                    {"outcome", to_text(check.outcome)},
                    {"requirement", to_text(check.requirement)},
                    {"reason", check.reason},
                    {"compared", object_of(check.compared)},
                    {"looked_at", object_of(check.looked_at)},
                    {"not_shown", check.not_shown},
                    {"limit", check.limit},
                    {"measured", check.measured},
                    {"margin", finite_or_null(check.margin)},
                    {"predicted_peak_bytes", check.predicted_peak_bytes},
                    {"first_divergence", to_json(check.first_divergence)}});
  }
  return list;
}

Json to_json(const std::optional<SecondRun>& second) {
  if (!second) return nullptr;
  return {{"outcome", to_text(second->outcome)}, {"words", second->words}};
}

Json to_json(const std::vector<Unrecorded>& not_recorded) {
  Json list = Json::array();
  for (const auto& [record, what, why, torch] : not_recorded)
    list.push_back({{"record", record}, {"what", what}, {"why", why}, {"torch", torch}});
  return list;
}

Json to_json(const CellVerdict& cell) {
  return {{"id", cell.id},
          {"run", cell.run},
          {"model", cell.model},
          {"optimizer", cell.optimizer},
          {"schedule", cell.schedule},
          {"world", cell.world},
          {"replicas", cell.replicas},
          {"balance", cell.balance},
          {"variant", cell.variant},
          {"reference", cell.reference},
          {"holds", cell.holds},
          {"unstable", cell.unstable()},
          {"second_run", to_json(cell.second_run)},
          {"values", cell.values ? to_json(*cell.values) : Json()},
          {"seconds", finite_or_zero(cell.seconds)},
          {"command", cell.command},
          {"request", cell.request},
          {"versions", cell.versions},
          {"not_recorded", to_json(cell.not_recorded)},
          {"first_divergence", to_json(cell.first_divergence)},
          {"checks", to_json(cell.checks)}};
}

Json to_json(const ReferenceVerdict& reference) {
  return {{"id", reference.id},
          {"run", reference.run},
          {"model", reference.model},
          {"optimizer", reference.optimizer},
          {"finished", reference.finished},
          {"reason", reference.reason},
          {"seconds", finite_or_zero(reference.seconds)},
          {"request", reference.request},
          {"versions", reference.versions},
          {"checks", to_json(reference.checks)}};
}

void add(Counts& sums, const Counts& counts) {
  for (const auto& [what, number] : counts) sums[what] += number;
}

}  // namespace

std::string to_text(Outcome outcome) {
  return name_of(outcomes, outcome);
}
Outcome parse_outcome(const std::string& text) {
  return value_of(outcomes, text, "outcome");
}
std::string to_text(Requirement requirement) {
  return name_of(requirements, requirement);
}
Requirement parse_requirement(const std::string& text) {
  return value_of(requirements, text, "requirement");
}
std::string to_text(Tier tier) {
  return name_of(tiers, tier);
}
std::string to_text(SecondRun::Outcome outcome) {
  return name_of(second_runs, outcome);
}

bool stands_in_the_way(const CheckResult& check) {
  if (check.outcome == Outcome::fails) return true;
  return check.requirement == Requirement::required && check.outcome != Outcome::holds &&
         check.outcome != Outcome::not_applicable;
}

void sum_up(Verdict& verdict) {
  verdict.counts = {{"cells", std::ssize(verdict.cells)},
                    {"cells_holding", 0},
                    {"cells_unstable", 0},
                    {"cells_not_run", std::ssize(verdict.not_run)},
                    {"checks", 0}};
  verdict.compared.clear();
  verdict.looked_at.clear();
  const auto take = [&](const std::vector<CheckResult>& checks) {
    for (const auto& check : checks) {
      ++verdict.counts["checks"];
      ++verdict.counts["checks_" + to_text(check.outcome)];
      add(verdict.compared, check.compared);
      add(verdict.looked_at, check.looked_at);
    }
  };
  for (const auto& reference : verdict.references) take(reference.checks);
  for (const auto& cell : verdict.cells) {
    if (cell.holds) ++verdict.counts["cells_holding"];
    if (cell.unstable()) ++verdict.counts["cells_unstable"];
    take(cell.checks);
  }
}

Json to_json(const Verdict& verdict) {
  Json references = Json::array(), cells = Json::array();
  for (const auto& reference : verdict.references) references.push_back(to_json(reference));
  for (const auto& cell : verdict.cells) cells.push_back(to_json(cell));
  const Selection& selection = verdict.selection;
  return {{"schema", verdict_schema},
          {"name", verdict.name},
          {"started", verdict.started},
          {"holds", verdict.holds},
          {"tier", to_text(verdict.tier)},
          {"selection",
           {{"partial", selection.partial()},
            {"cells", selection.cells},
            {"of_cells", selection.of_cells},
            {"checks", selection.checks}}},
          {"counts", object_of(verdict.counts)},
          {"compared", object_of(verdict.compared)},
          {"looked_at", object_of(verdict.looked_at)},
          {"harness", verdict.harness},
          {"machine", verdict.machine},
          {"references", std::move(references)},
          {"cells", std::move(cells)},
          {"not_run", verdict.not_run},
          {"not_applicable", verdict.not_applicable}};
}

void write_verdict(const std::filesystem::path& path, const Verdict& verdict) {
  write_json(path, to_json(verdict));
}

}  // namespace plumbline
