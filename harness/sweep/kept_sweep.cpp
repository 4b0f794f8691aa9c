// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/kept_sweep.hpp"

#include <algorithm>

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

Json to_json(const CellPlan& cell) {
  return {{"id", cell.id},
          {"run", cell.run},
          {"model", cell.model},
          {"schedule", cell.schedule},
          {"optimizer", cell.optimizer},
          {"variant", cell.variant},
          {"reference", cell.reference},
          {"schedule_csv", cell.schedule_csv},
          {"world", cell.world},
          {"balance", cell.balance},
          {"lengths", cell.lengths},
          {"checks", cell.checks},
          {"clipping_must_act", cell.clipping_must_act},
          {"bench", cell.bench},
          {"repeat", cell.repeat},
          {"command", cell.command}};
}

template <class Value>
Value get(const JsonKeys& keys, const char* key) {
  try {
    return keys.at(key).get<Value>();
  } catch (const Json::exception&) {
    keys.fail(key, "is not as this program writes it");
  }
}

CellPlan cell_of(const JsonKeys& keys) {
  CellPlan cell;
  cell.id = keys.text("id");
  cell.run = keys.text("run");
  cell.model = keys.text("model");
  cell.schedule = keys.text("schedule");
  cell.optimizer = keys.text("optimizer");
  cell.variant = keys.text("variant");
  cell.reference = keys.text("reference");
  cell.schedule_csv = keys.text("schedule_csv");
  cell.world = keys.integer("world", 1);
  cell.balance = get<std::vector<std::int64_t>>(keys, "balance");
  cell.lengths = get<std::vector<std::int64_t>>(keys, "lengths");
  cell.checks = keys.texts("checks");
  cell.clipping_must_act = get<bool>(keys, "clipping_must_act");
  cell.bench = get<bool>(keys, "bench");
  cell.repeat = get<bool>(keys, "repeat");
  cell.command = keys.text("command");
  return cell;
}

KeptReference reference_of(const JsonKeys& keys) {
  return {keys.text("id"),        keys.text("run"),         keys.text("model"),
          keys.text("optimizer"), get<bool>(keys, "bench"), get<bool>(keys, "equal_lengths")};
}

}  // namespace

KeptSweep kept_sweep(const SweepFile& file, const SweepPlan& plan, const std::vector<std::string>& all_cells) {
  KeptSweep kept;
  kept.name = file.name;
  kept.tier = file.calibrated ? Tier::calibrated : Tier::bits;
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
  Json references = Json::array(), cells = Json::array();
  for (const auto& reference : sweep.references) {
    references.push_back({{"id", reference.id},
                          {"run", reference.run},
                          {"model", reference.model},
                          {"optimizer", reference.optimizer},
                          {"bench", reference.bench},
                          {"equal_lengths", reference.equal_lengths}});
  }
  for (const auto& cell : sweep.cells) cells.push_back(to_json(cell));
  return {{"file", sweep.file},
          {"all_cells", sweep.all_cells},
          {"tier", to_text(sweep.tier)},
          {"of_cells", sweep.selection.of_cells},
          {"checks", sweep.selection.checks},
          {"not_applicable", sweep.not_applicable},
          {"references", std::move(references)},
          {"cells", std::move(cells)}};
}

KeptSweep read_kept_sweep(const std::filesystem::path& sweep_json) {
  const Json json = read_json(sweep_json);
  const JsonKeys keys(sweep_json, json);
  if (!keys.has_value("plan")) {
    throw InputError(sweep_json.string() +
                     ": holds no plan; an older version made this sweep, or the file is not a sweep's");
  }
  const JsonKeys plan = keys.object("plan");
  KeptSweep kept;
  kept.name = keys.text("name");
  kept.tier = plan.word("tier", {"bits", "calibrated"}) == "bits" ? Tier::bits : Tier::calibrated;
  kept.selection.of_cells = plan.integer("of_cells", 0);
  if (plan.has_value("file")) kept.file = plan.text("file");
  if (plan.has_value("all_cells")) kept.all_cells = plan.texts("all_cells");
  kept.selection.checks = plan.texts("checks");
  kept.not_applicable = plan.texts("not_applicable");
  for (const auto& reference : plan.objects("references")) kept.references.push_back(reference_of(reference));
  for (const auto& cell : plan.objects("cells")) kept.cells.push_back(cell_of(cell));
  kept.selection.cells = std::ssize(kept.cells);
  return kept;
}

}  // namespace plumbline
