// SPDX-License-Identifier: BSD-3-Clause
#include "harness/baseline/baseline.hpp"

#include <algorithm>

#include "record/json_keys.hpp"

namespace plumbline {
namespace {

Json to_json(const RankBytes& rank) {
  Json json = {{"rank", rank.rank}};
  for (const auto& [name, bytes] : rank.bytes) json[name] = bytes;
  if (!rank.peak_action.empty()) json["peak_action"] = rank.peak_action;
  return json;
}

/// `base`: the request of its reference; only differences to it are stored.
Json to_json(const RunBaseline& run, const RequestKeys& base = {}) {
  Json json = {{"id", run.id}, {"asked", run.asked}};
  if (!run.request.empty()) json["request"] = beyond(base, run.request);
  json["outcomes"] = run.outcomes;
  if (!run.losses.empty()) json["losses"] = run.losses;
  if (!run.gradient_norms.empty()) json["gradient_norms"] = run.gradient_norms;
  if (!run.parameters.empty()) json["parameters"] = run.parameters;
  if (!run.saved_bytes.empty()) json["saved_bytes"] = run.saved_bytes;
  json["ranks"] = Json::array();
  for (const RankBytes& rank : run.ranks) json["ranks"].push_back(to_json(rank));
  return json;
}

std::map<std::string, std::string> text_map(const JsonKeys& keys, const std::string& key) {
  std::map<std::string, std::string> map;
  if (!keys.has(key)) return map;
  const JsonKeys object = keys.object(key);
  for (const auto& [name, value] : keys.at(key).items()) map[name] = object.text(name);
  return map;
}

RankBytes rank_of(const JsonKeys& keys, const Json& json) {
  RankBytes rank;
  rank.rank = keys.integer("rank", 0);
  for (const auto& [name, value] : json.items()) {
    if (name == "peak_action")
      rank.peak_action = keys.text(name);
    else if (name != "rank")
      rank.bytes[name] = keys.integer(name, 0);
  }
  return rank;
}

RunBaseline run_of(const JsonKeys& keys) {
  RunBaseline run;
  run.id = keys.text("id");
  run.asked = keys.text("asked");
  run.request = text_map(keys, "request");
  run.outcomes = text_map(keys, "outcomes");
  if (keys.has("losses")) run.losses = keys.texts("losses");
  if (keys.has("gradient_norms")) run.gradient_norms = keys.texts("gradient_norms");
  run.parameters = text_map(keys, "parameters");
  if (keys.has("saved_bytes")) {
    const JsonKeys saved = keys.object("saved_bytes");
    for (const auto& [unit, bytes] : keys.at("saved_bytes").items()) run.saved_bytes[unit] = saved.integer(unit, 0);
  }
  const std::vector<JsonKeys> ranks = keys.objects("ranks");
  for (std::size_t i = 0; i < ranks.size(); ++i) run.ranks.push_back(rank_of(ranks[i], keys.at("ranks").at(i)));
  return run;
}

}  // namespace

Json to_json(const Baseline& baseline) {
  Json json = {{"schema", baseline_schema},
               {"name", baseline.name},
               {"sweep", baseline.sweep},
               {"taken", baseline.taken},
               {"commit", baseline.commit},
               {"code_path", baseline.code_path},
               {"environment", baseline.environment},
               {"references", Json::array()},
               {"cells", Json::array()},
               {"accepted", Json::array()}};
  for (const RunBaseline& run : baseline.references) json["references"].push_back(to_json(run));
  for (const RunBaseline& run : baseline.cells) {
    const std::string& reference = baseline.reference_of.at(run.id);
    const auto& request = std::ranges::find(baseline.references, reference, &RunBaseline::id)->request;
    Json cell = to_json(run, request);
    cell["reference"] = reference;
    json["cells"].push_back(std::move(cell));
  }
  for (const AcceptedChange& change : baseline.accepted)
    json["accepted"].push_back({{"commit", change.commit}, {"reason", change.reason}, {"changes", change.changes}});
  return json;
}

Baseline read_baseline(const std::filesystem::path& file) {
  const Json json = read_json(file);
  const JsonKeys keys(file, json);
  if (const std::string schema = keys.text("schema"); schema != baseline_schema)
    keys.fail("schema", "is \"" + schema + "\"; this program reads " + baseline_schema);
  Baseline baseline;
  baseline.name = keys.text("name");
  baseline.sweep = keys.text("sweep");
  baseline.taken = keys.text("taken");
  baseline.commit = keys.text("commit");
  keys.object("code_path");
  keys.object("environment");
  baseline.code_path = keys.at("code_path");
  baseline.environment = keys.at("environment");
  for (const JsonKeys& run : keys.objects("references")) baseline.references.push_back(run_of(run));
  std::map<std::string, const RunBaseline*> references;
  for (const RunBaseline& run : baseline.references) references.emplace(run.id, &run);
  for (const JsonKeys& run : keys.objects("cells")) {
    baseline.cells.push_back(run_of(run));
    const std::string reference = run.text("reference");
    const auto found = references.find(reference);
    if (found == references.end()) run.fail("reference", "names a reference that the file does not hold: " + reference);
    RunBaseline& cell = baseline.cells.back();
    if (!cell.request.empty()) cell.request = with(found->second->request, cell.request);
    baseline.reference_of[cell.id] = reference;
  }
  for (const JsonKeys& change : keys.objects("accepted"))
    baseline.accepted.push_back({change.text("commit"), change.text("reason"), change.texts("changes")});
  return baseline;
}

}  // namespace plumbline
