// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/kept_sweep.hpp"

#include <algorithm>
#include <concepts>
#include <type_traits>

#include "harness/judge/judge.hpp"
#include "record/json_keys.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"

namespace plumbline {
namespace {

std::vector<KeptReference> references_of(const SweepPlan& plan) {
  std::vector<KeptReference> references;
  for (std::size_t i = 0; i < plan.references.size(); ++i) {
    KeptReference kept;
    kept.id = plan.references[i].id;
    kept.equal_lengths = true;
    for (const auto& cell : plan.cells) {
      if (cell.reference != i) continue;
      kept.run = cell.plan.run;
      kept.model = cell.plan.model;
      kept.optimizer = cell.plan.optimizer;
      kept.bench = kept.bench || cell.plan.bench;
      kept.equal_lengths = kept.equal_lengths && asks_for_equal_lengths(cell.plan);
    }
    references.push_back(kept);
  }
  return references;
}

/// Calls field(key, member) for each stored member.
template <class Cell, class Field>
requires std::same_as<std::remove_const_t<Cell>, CellPlan>
void for_each_field(Cell& cell, const Field& field) {
  field("id", cell.id);
  field("run", cell.run);
  field("model", cell.model);
  field("schedule", cell.schedule);
  field("optimizer", cell.optimizer);
  field("variant", cell.variant);
  field("reference", cell.reference);
  field("schedule_csv", cell.schedule_csv);
  field("world", cell.world);
  field("balance", cell.balance);
  field("lengths", cell.lengths);
  field("checks", cell.checks);
  field("clipping_must_act", cell.clipping_must_act);
  field("bench", cell.bench);
  field("repeat", cell.repeat);
  field("command", cell.command);
}

/// Likewise for members that older versions did not store.
template <class Cell, class Field>
requires std::same_as<std::remove_const_t<Cell>, CellPlan>
void for_each_later_field(Cell& cell, const Field& field) {
  field("replicas", cell.replicas);
  field("accept_missing", cell.accept_missing);
}

template <class Reference, class Field>
requires std::same_as<std::remove_const_t<Reference>, KeptReference>
void for_each_later_field(Reference&, const Field&) {}

template <class Reference, class Field>
requires std::same_as<std::remove_const_t<Reference>, KeptReference>
void for_each_field(Reference& reference, const Field& field) {
  field("id", reference.id);
  field("run", reference.run);
  field("model", reference.model);
  field("optimizer", reference.optimizer);
  field("bench", reference.bench);
  field("equal_lengths", reference.equal_lengths);
}

template <class Kept>
Json list_of(const std::vector<Kept>& all) {
  Json list = Json::array();
  for (const Kept& kept : all) {
    Json& json = list.emplace_back(Json::object());
    const auto store = [&](const char* key, const auto& value) { json[key] = value; };
    for_each_field(kept, store);
    for_each_later_field(kept, store);
  }
  return list;
}

template <class Value>
Value get(const JsonKeys& keys, const char* key) {
  try {
    return keys.at(key).get<Value>();
  } catch (const Json::exception&) {
    keys.fail(key, "is not as this program writes it");
  }
}

template <class Kept>
Kept read_fields(const JsonKeys& keys) {
  Kept kept;
  const auto read = [&](const char* key, auto& value) { value = get<std::remove_cvref_t<decltype(value)>>(keys, key); };
  for_each_field(kept, read);
  for_each_later_field(kept, [&](const char* key, auto& value) {
    if (keys.has_value(key)) read(key, value);
  });
  return kept;
}

}  // namespace

KeptSweep kept_sweep(const SweepFile& file, const SweepPlan& plan, const std::vector<std::string>& all_cells) {
  KeptSweep kept;
  kept.name = file.name;
  kept.comparison_mode = file.calibrated ? ComparisonMode::calibrated : ComparisonMode::bits;
  kept.selection.cells = std::ssize(plan.cells);
  kept.file = hash_hex(read_file(file.path));
  kept.all_cells = all_cells;
  kept.selection.of_cells = std::ssize(all_cells);
  const bool some = std::ranges::any_of(check_names(), [&](const std::string& name) {
    const bool always = name == "completion" || name == "as_asked";
    return !always && std::ranges::find(file.checks, name) == file.checks.end();
  });
  if (some && !file.checks.empty()) kept.selection.checks = file.checks;
  kept.not_applicable = plan.not_applicable;
  kept.references = references_of(plan);
  for (const auto& cell : plan.cells) kept.cells.push_back(cell.plan);
  return kept;
}

Json to_json(const KeptSweep& sweep) {
  return {{"file", sweep.file},
          {"all_cells", sweep.all_cells},
          {"tier", to_text(sweep.comparison_mode)},
          {"of_cells", sweep.selection.of_cells},
          {"checks", sweep.selection.checks},
          {"not_applicable", sweep.not_applicable},
          {"references", list_of(sweep.references)},
          {"cells", list_of(sweep.cells)}};
}

KeptSweep read_kept_sweep(const std::filesystem::path& sweep_json) {
  const Json json = read_json(sweep_json, most_of_json, JsonTexts::as_written);
  const JsonKeys keys(sweep_json, json);
  if (!keys.has_value("plan")) {
    throw InputError(sweep_json.string() +
                     ": holds no plan; an older version made this sweep, or the file is not a sweep's");
  }
  const JsonKeys plan = keys.object("plan");
  KeptSweep kept;
  kept.name = keys.text("name");
  kept.comparison_mode =
      plan.word("tier", {"bits", "calibrated"}) == "bits" ? ComparisonMode::bits : ComparisonMode::calibrated;
  kept.selection.of_cells = plan.integer("of_cells", 0);
  if (plan.has_value("file")) kept.file = plan.text("file");
  if (plan.has_value("all_cells")) kept.all_cells = plan.texts("all_cells");
  kept.selection.checks = plan.texts("checks");
  kept.not_applicable = plan.texts("not_applicable");
  for (const auto& reference : plan.objects("references"))
    kept.references.push_back(read_fields<KeptReference>(reference));
  for (const auto& cell : plan.objects("cells")) {
    kept.cells.push_back(read_fields<CellPlan>(cell));
    cell.integer("world", 1);
  }
  kept.selection.cells = std::ssize(kept.cells);
  return kept;
}

}  // namespace plumbline
