// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/kept_sweep.hpp"

#include <algorithm>
#include <type_traits>

#include "harness/judge/judge.hpp"
#include "record/json_keys.hpp"
#include "support/commit.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"

namespace plumbline {
namespace {

/// Calls field(key, member) for each stored member.
template <class Cell, class Field>
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
  field("replicas", cell.replicas);
  field("balance", cell.balance);
  field("lengths", cell.lengths);
  field("checks", cell.checks);
  field("accept_missing", cell.accept_missing);
  field("clipping_must_act", cell.clipping_must_act);
  field("bench", cell.bench);
  field("repeat", cell.repeat);
  field("command", cell.command);
}

CellPlan read_cell(const JsonKeys& keys) {
  CellPlan cell;
  for_each_field(cell, [&](const char* key, auto& value) {
    try {
      value = keys.at(key).template get<std::remove_cvref_t<decltype(value)>>();
    } catch (const Json::exception&) {
      keys.fail(key, "was not written by this program");
    }
  });
  keys.integer("world", 1);
  return cell;
}

}  // namespace

std::vector<KeptReference> KeptSweep::references() const {
  std::vector<KeptReference> references;
  for (const CellPlan& cell : cells) {
    auto known = std::ranges::find(references, cell.reference, &KeptReference::id);
    if (known == references.end())
      known = references.insert(known, {cell.reference, cell.run, cell.model, cell.optimizer, false, true});
    known->bench = known->bench || cell.bench;
    known->equal_lengths = known->equal_lengths && asks_for_equal_lengths(cell);
  }
  return references;
}

Json to_json(const CellPlan& cell) {
  Json json = Json::object();
  for_each_field(cell, [&](const char* key, const auto& value) { json[key] = value; });
  return json;
}

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
  kept.accept_gaps = file.accept_gaps;
  kept.commit = file.commit.empty() ? commit_of_checkout(file.path.parent_path()) : file.commit;
  kept.folder = std::filesystem::current_path().string();
  for (const auto& cell : plan.cells) kept.cells.push_back(cell.plan);
  return kept;
}

Json to_json(const KeptSweep& sweep) {
  Json cells = Json::array();
  for (const CellPlan& cell : sweep.cells) cells.push_back(to_json(cell));
  return {{"file", sweep.file},
          {"all_cells", sweep.all_cells},
          {"tier", to_text(sweep.comparison_mode)},
          {"of_cells", sweep.selection.of_cells},
          {"checks", sweep.selection.checks},
          {"not_applicable", sweep.not_applicable},
          {"accept_gaps", sweep.accept_gaps},
          {"commit", sweep.commit},
          {"folder", sweep.folder},
          {"cells", cells}};
}

KeptSweep read_kept_sweep(const std::filesystem::path& sweep_json) {
  const Json json = read_json(sweep_json, most_of_json, JsonTexts::as_written);
  const JsonKeys keys(sweep_json, json);
  const JsonKeys plan = keys.object("plan");
  KeptSweep kept;
  kept.name = keys.text("name");
  kept.comparison_mode =
      plan.word("tier", {"bits", "calibrated"}) == "bits" ? ComparisonMode::bits : ComparisonMode::calibrated;
  kept.selection.of_cells = plan.integer("of_cells", 0);
  kept.file = plan.text("file");
  kept.all_cells = plan.texts("all_cells");
  kept.selection.checks = plan.texts("checks");
  kept.not_applicable = plan.texts("not_applicable");
  kept.accept_gaps = plan.flag("accept_gaps");
  kept.commit = plan.text("commit");
  kept.folder = plan.text("folder");
  for (const auto& cell : plan.objects("cells")) kept.cells.push_back(read_cell(cell));
  kept.selection.cells = std::ssize(kept.cells);
  return kept;
}

}  // namespace plumbline
