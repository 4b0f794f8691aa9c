// SPDX-License-Identifier: BSD-3-Clause
#include <iterator>
#include <limits>

#include "record/json_keys.hpp"
#include "record/verdict.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

constexpr const char* first_schema = "plumbline-verdict/1";
/// The words of schema 1 for a check that the sweep did not select.
constexpr const char* not_asked_for = "not asked for in this cell";

template <class Value>
Value as(const JsonKeys& keys, const std::string& key, const std::string& form) {
  try {
    return keys.at(key).get<Value>();
  } catch (const Json::exception&) {
    keys.fail(key, "must be " + form);
  }
}

bool flag(const JsonKeys& keys, const std::string& key) {
  return as<bool>(keys, key, "true or false");
}
Counts counts(const JsonKeys& keys, const std::string& key) {
  return as<Counts>(keys, key, "an object of whole numbers");
}
std::vector<std::int64_t> numbers(const JsonKeys& keys, const std::string& key) {
  return as<std::vector<std::int64_t>>(keys, key, "a list of whole numbers");
}
/// A verdict repeats a record's numbers, however wrong they are.
std::int64_t whole_number(const JsonKeys& keys, const std::string& key) {
  return keys.integer(key, std::numeric_limits<std::int64_t>::min());
}
std::optional<std::int64_t> optional_number(const JsonKeys& keys, const std::string& key) {
  if (keys.at(key).is_null()) return std::nullopt;
  return whole_number(keys, key);
}

template <class Value>
Value word(const JsonKeys& keys, const std::string& key, Value (*parse)(const std::string&)) {
  try {
    return parse(keys.text(key));
  } catch (const InputError& error) {
    keys.fail(key, error.what());
  }
}

std::optional<FirstDivergence> divergence_of(const JsonKeys& keys, bool first) {
  if (keys.at("first_divergence").is_null()) return std::nullopt;
  const JsonKeys found = keys.object("first_divergence");
  FirstDivergence divergence;
  divergence.rung = found.text("rung");
  divergence.step = whole_number(found, "step");
  divergence.microbatch = optional_number(found, "microbatch");
  divergence.stage = optional_number(found, "stage");
  divergence.rank = optional_number(found, "rank");
  if (found.has_value("replica")) divergence.replica = found.integer("replica", 0);
  divergence.direction = found.text("direction");
  divergence.item = found.text("item");
  divergence.expected = found.text("expected");
  divergence.got = found.text("got");
  if (!first) divergence.size = found.text("size");
  divergence.words = found.text("words");
  return divergence;
}

Requirement requirement_of(const JsonKeys& keys, bool first, Outcome outcome) {
  if (!first) return word(keys, "requirement", parse_requirement);
  if (outcome == Outcome::not_applicable) return Requirement::not_applicable;
  return flag(keys, "required") ? Requirement::required : Requirement::told;
}

CheckResult check_of(const JsonKeys& keys, bool first) {
  CheckResult check;
  check.name = keys.text("name");
  check.outcome = word(keys, "outcome", parse_outcome);
  check.requirement = requirement_of(keys, first, check.outcome);
  check.reason = keys.text("reason");
  if (!first) check.compared = counts(keys, "compared");
  check.looked_at = counts(keys, "looked_at");
  if (!first) check.not_shown = keys.texts("not_shown");
  check.limit = keys.text("limit");
  check.measured = keys.text("measured");
  if (!keys.at("margin").is_null()) check.margin = keys.number("margin");
  check.first_divergence = divergence_of(keys, first);
  if (!first || keys.has("predicted_peak_bytes")) check.predicted_peak_bytes = numbers(keys, "predicted_peak_bytes");
  return check;
}

std::vector<CheckResult> checks_of(const JsonKeys& keys, bool first) {
  std::vector<CheckResult> checks;
  for (const auto& check : keys.objects("checks")) checks.push_back(check_of(check, first));
  return checks;
}

SecondRun::Outcome parse_second_run(const std::string& text) {
  using Outcome = SecondRun::Outcome;
  for (const auto outcome : {Outcome::fails_again, Outcome::holds, Outcome::not_done}) {
    if (to_text(outcome) == text) return outcome;
  }
  throw InputError("`" + text + "` is nothing that can come of a second run");
}

std::optional<SecondRun> second_run_of(const JsonKeys& keys) {
  if (keys.at("second_run").is_null()) return std::nullopt;
  const JsonKeys second = keys.object("second_run");
  return SecondRun{word(second, "outcome", parse_second_run), second.text("words")};
}

/// Older verdicts lack the key.
std::optional<ValueFindings> values_of(const JsonKeys& keys) {
  if (!keys.has_value("values")) return std::nullopt;
  try {
    return value_findings_from(keys.at("values"));
  } catch (const nlohmann::json::exception& error) {
    keys.fail("values", error.what());
  }
}

/// Older verdicts lack it, too.
std::vector<Unrecorded> not_recorded_of(const JsonKeys& keys) {
  std::vector<Unrecorded> list;
  if (!keys.has("not_recorded")) return list;
  for (const auto& entry : keys.objects("not_recorded"))
    list.push_back({entry.text("record"), entry.text("what"), entry.text("why"), entry.text("torch")});
  return list;
}

CellVerdict cell_of(const JsonKeys& keys, bool first) {
  CellVerdict cell;
  cell.id = keys.text("id");
  cell.run = keys.text("run");
  cell.model = keys.text("model");
  cell.optimizer = keys.text("optimizer");
  cell.schedule = keys.text("schedule");
  cell.world = keys.integer("world", 0);
  if (keys.has_value("replicas")) cell.replicas = keys.integer("replicas", 1);
  cell.balance = numbers(keys, "balance");
  cell.holds = flag(keys, "holds");
  cell.seconds = keys.number("seconds");
  cell.command = keys.text("command");
  cell.first_divergence = divergence_of(keys, first);
  cell.checks = checks_of(keys, first);
  if (first) return cell;
  cell.variant = keys.text("variant");
  cell.reference = keys.text("reference");
  cell.second_run = second_run_of(keys);
  cell.values = values_of(keys);
  cell.request = keys.at("request");
  cell.versions = keys.at("versions");
  cell.not_recorded = not_recorded_of(keys);
  return cell;
}

ReferenceVerdict reference_of(const JsonKeys& keys) {
  ReferenceVerdict reference;
  reference.id = keys.text("id");
  reference.run = keys.text("run");
  reference.model = keys.text("model");
  reference.optimizer = keys.text("optimizer");
  reference.finished = flag(keys, "finished");
  reference.reason = keys.text("reason");
  reference.seconds = keys.number("seconds");
  reference.request = keys.at("request");
  reference.versions = keys.at("versions");
  reference.checks = checks_of(keys, false);
  return reference;
}

Tier parse_tier(const std::string& text) {
  if (text == "bits") return Tier::bits;
  if (text == "calibrated") return Tier::calibrated;
  throw InputError("`" + text + "` is no tier; they are bits, calibrated");
}

Selection selection_of(const JsonKeys& keys) {
  Selection selection;
  selection.cells = keys.integer("cells", 0);
  selection.of_cells = keys.integer("of_cells", 0);
  selection.checks = keys.texts("checks");
  return selection;
}

/// Schema 1 has neither comparison mode nor selection: both are derived from its checks.
void complete_first(Verdict& verdict) {
  verdict.selection.cells = verdict.selection.of_cells = std::ssize(verdict.cells) + std::ssize(verdict.not_run);
  for (const auto& cell : verdict.cells) {
    std::vector<std::string> asked;
    for (const auto& check : cell.checks) {
      if (check.limit.starts_with("calibrated")) verdict.tier = Tier::calibrated;
      if (check.reason != not_asked_for) asked.push_back(check.name);
    }
    if (asked.size() < cell.checks.size()) verdict.selection.checks = asked;
  }
  const Counts all = std::move(verdict.counts);
  for (const auto& [what, number] : all) {
    const bool of_checks = what.starts_with("cells") || what.starts_with("checks");
    (of_checks ? verdict.counts : verdict.looked_at)[what] = number;
  }
}

}  // namespace

Verdict read_verdict(const std::filesystem::path& path) {
  const Json json = read_json(path);
  const JsonKeys keys(path, json);
  const std::string schema = keys.text("schema");
  if (schema != verdict_schema && schema != first_schema) {
    keys.fail("schema",
              "'" + schema + "' is not read by this version; it reads " + verdict_schema + " and " + first_schema);
  }
  const bool first = schema == first_schema;
  Verdict verdict;
  verdict.holds = flag(keys, "holds");
  verdict.name = keys.text("name");
  verdict.started = keys.text("started");
  verdict.counts = counts(keys, "counts");
  verdict.not_run = keys.texts("not_run");
  if (!first || keys.has("not_applicable")) verdict.not_applicable = keys.texts("not_applicable");
  verdict.machine = keys.at("machine");
  for (const auto& cell : keys.objects("cells")) verdict.cells.push_back(cell_of(cell, first));
  if (first) {
    complete_first(verdict);
    return verdict;
  }
  verdict.tier = word(keys, "tier", parse_tier);
  verdict.selection = selection_of(keys.object("selection"));
  verdict.compared = counts(keys, "compared");
  verdict.looked_at = counts(keys, "looked_at");
  verdict.harness = keys.at("harness");
  for (const auto& reference : keys.objects("references")) verdict.references.push_back(reference_of(reference));
  return verdict;
}

}  // namespace plumbline
