// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/kept_verdict.hpp"

#include "harness/sweep/kept_sweep.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr const char* digest_key = "digest";

fs::path file_of(const SweepFolder& folder, const std::string& id) {
  return folder.cell(id) / "cell.json";
}

std::string digest_of(const Json& verdict, const SweepFolder& folder, const CellPlan& plan, const std::string& judge) {
  Json requested = to_json(plan);
  requested.erase("command");  // it has the sweep's folder
  return hash_hex(verdict.dump() + requested.dump() + Json(folder.inputs_of(plan.id)).dump() + judge);
}

}  // namespace

void keep_verdict(const SweepFolder& folder, const CellPlan& plan, const CellVerdict& verdict,
                  const std::string& judge) {
  Verdict kept;
  kept.holds = verdict.holds;
  kept.name = verdict.id;
  kept.started = folder.started();
  kept.cells = {verdict};
  kept.machine = Json::object();
  Json json = to_json(kept);
  json[digest_key] = digest_of(json, folder, plan, judge);
  make_folder(folder.cell(plan.id));  // a run that never started does not have a folder
  write_json(file_of(folder, plan.id), json);
}

std::optional<CellVerdict> kept_verdict(const SweepFolder& folder, const CellPlan& plan, const std::string& judge) try {
  const fs::path file = file_of(folder, plan.id);
  if (!path_exists(file)) return std::nullopt;
  Json json = read_json(file, most_of_json, JsonTexts::as_written);
  const Json digest = json.is_object() ? json.value(digest_key, Json()) : Json();
  if (!digest.is_string()) return std::nullopt;
  json.erase(digest_key);
  if (digest != Json(digest_of(json, folder, plan, judge))) return std::nullopt;
  return earlier_verdict(folder, plan.id);
} catch (const InputError&) {
  return std::nullopt;
}

std::optional<CellVerdict> earlier_verdict(const SweepFolder& folder, const std::string& id) try {
  const Verdict kept = read_verdict(file_of(folder, id));
  return kept.cells.size() == 1 ? std::optional(kept.cells.front()) : std::nullopt;
} catch (const InputError&) {
  return std::nullopt;
}

}  // namespace plumbline
