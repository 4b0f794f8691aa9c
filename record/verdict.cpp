#include "record/verdict.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "support/error.hpp"
#include "support/json_text.hpp"

namespace plumbline {
namespace {

constexpr const char* schema = "plumbline-verdict/1";

constexpr std::array<std::pair<Outcome, const char*>, 5> outcomes = {{{Outcome::holds, "holds"},
                                                                      {Outcome::fails, "fails"},
                                                                      {Outcome::not_run, "not_run"},
                                                                      {Outcome::not_applicable, "not_applicable"},
                                                                      {Outcome::not_triggered, "not_triggered"}}};

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// JSON has neither NaN nor infinity; a margin that is one of them is no number to show.
Json finite_or_null(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

Json to_json(const std::optional<FirstDivergence>& divergence) {
  if (!divergence) return nullptr;
  return {{"rung", divergence->rung},
          {"step", divergence->step},
          {"microbatch", or_null(divergence->microbatch)},
          {"stage", or_null(divergence->stage)},
          {"rank", or_null(divergence->rank)},
          {"direction", divergence->direction},
          {"item", divergence->item},
          {"expected", divergence->expected},
          {"got", divergence->got},
          {"words", divergence->words}};
}

Json to_json(const CheckResult& check) {
  Json json = {{"name", check.name},
               {"outcome", to_text(check.outcome)},
               {"reason", check.reason},
               {"looked_at", check.looked_at.empty() ? Json::object() : Json(check.looked_at)},
               {"limit", check.limit},
               {"measured", check.measured},
               {"margin", finite_or_null(check.margin)},
               {"required", check.required},
               {"first_divergence", to_json(check.first_divergence)}};
  if (!check.predicted_peak_bytes.empty()) json["predicted_peak_bytes"] = check.predicted_peak_bytes;
  return json;
}

Json to_json(const CellVerdict& cell) {
  Json checks = Json::array();
  for (const auto& check : cell.checks) checks.push_back(to_json(check));
  return {{"id", cell.id},
          {"run", cell.run},
          {"world", cell.world},
          {"schedule", cell.schedule},
          {"model", cell.model},
          {"optimizer", cell.optimizer},
          {"balance", cell.balance},
          {"holds", cell.holds},
          {"seconds", std::isfinite(cell.seconds) ? cell.seconds : 0.0},
          {"command", cell.command},
          {"first_divergence", to_json(cell.first_divergence)},
          {"checks", std::move(checks)}};
}

/// Reads keys with errors that name file and place.
class VerdictReader {
 public:
  explicit VerdictReader(const std::filesystem::path& path) : path_(path) {}

  Verdict verdict(const Json& json) const {
    if (!json.is_object() || json.value("schema", "") != schema) {
      throw InputError(path_.string() + ": not a verdict of schema " + schema + "; it says " +
                       (json.is_object() && json.contains("schema") ? json_text(json.at("schema")) : "nothing"));
    }
    Verdict verdict;
    verdict.holds = get<bool>(json, "holds", "");
    verdict.name = get<std::string>(json, "name", "");
    verdict.started = get<std::string>(json, "started", "");
    verdict.counts = get<std::map<std::string, std::int64_t>>(json, "counts", "");
    verdict.not_run = get<std::vector<std::string>>(json, "not_run", "");
    if (json.contains("not_applicable"))  // verdicts of before 2026-11-21 lack it
      verdict.not_applicable = get<std::vector<std::string>>(json, "not_applicable", "");
    verdict.machine = at(json, "machine", "");
    const Json& cells = at(json, "cells", "");
    for (std::size_t i = 0; i < cells.size(); ++i)
      verdict.cells.push_back(cell(cells.at(i), "cells[" + std::to_string(i) + "]"));
    return verdict;
  }

 private:
  const Json& at(const Json& json, const char* key, const std::string& where) const {
    const auto found = json.is_object() ? json.find(key) : json.end();
    if (!json.is_object() || found == json.end()) {
      throw InputError(path_.string() + ": key `" + key + "` is missing" + (where.empty() ? "" : " in " + where) +
                       "; the file is broken or was written by another version");
    }
    return *found;
  }

  template <class Value>
  Value get(const Json& json, const char* key, const std::string& where) const {
    const Json& value = at(json, key, where);
    try {
      return value.get<Value>();
    } catch (const Json::exception&) {
      throw InputError(path_.string() + ": key `" + key + "`" + (where.empty() ? "" : " in " + where) +
                       " has a wrong type: " + json_text(value));
    }
  }

  template <class Value>
  std::optional<Value> maybe(const Json& json, const char* key, const std::string& where) const {
    if (at(json, key, where).is_null()) return std::nullopt;
    return get<Value>(json, key, where);
  }

  std::optional<FirstDivergence> divergence(const Json& json, const std::string& where) const {
    const Json& found = at(json, "first_divergence", where);
    if (found.is_null()) return std::nullopt;
    const std::string here = where + ".first_divergence";
    FirstDivergence result;
    result.rung = get<std::string>(found, "rung", here);
    result.step = get<std::int64_t>(found, "step", here);
    result.microbatch = maybe<std::int64_t>(found, "microbatch", here);
    result.stage = maybe<std::int64_t>(found, "stage", here);
    result.rank = maybe<std::int64_t>(found, "rank", here);
    result.direction = get<std::string>(found, "direction", here);
    result.item = get<std::string>(found, "item", here);
    result.expected = get<std::string>(found, "expected", here);
    result.got = get<std::string>(found, "got", here);
    result.words = get<std::string>(found, "words", here);
    return result;
  }

  CheckResult check(const Json& json, const std::string& where) const {
    CheckResult result;
    result.name = get<std::string>(json, "name", where);
    result.outcome = parse_outcome(get<std::string>(json, "outcome", where));
    result.reason = get<std::string>(json, "reason", where);
    result.looked_at = get<std::map<std::string, std::int64_t>>(json, "looked_at", where);
    result.limit = get<std::string>(json, "limit", where);
    result.measured = get<std::string>(json, "measured", where);
    result.margin = maybe<double>(json, "margin", where);
    result.required = get<bool>(json, "required", where);
    result.first_divergence = divergence(json, where);
    if (json.contains("predicted_peak_bytes"))
      result.predicted_peak_bytes = get<std::vector<std::int64_t>>(json, "predicted_peak_bytes", where);
    return result;
  }

  CellVerdict cell(const Json& json, const std::string& where) const {
    CellVerdict result;
    result.id = get<std::string>(json, "id", where);
    result.run = get<std::string>(json, "run", where);
    result.world = get<std::int64_t>(json, "world", where);
    result.schedule = get<std::string>(json, "schedule", where);
    result.model = get<std::string>(json, "model", where);
    result.optimizer = get<std::string>(json, "optimizer", where);
    result.balance = get<std::vector<std::int64_t>>(json, "balance", where);
    result.holds = get<bool>(json, "holds", where);
    result.seconds = get<double>(json, "seconds", where);
    result.command = get<std::string>(json, "command", where);
    result.first_divergence = divergence(json, where);
    const Json& checks = at(json, "checks", where);
    for (std::size_t i = 0; i < checks.size(); ++i)
      result.checks.push_back(check(checks.at(i), where + ".checks[" + std::to_string(i) + "]"));
    return result;
  }

  const std::filesystem::path& path_;
};

}  // namespace

std::string to_text(Outcome outcome) {
  for (const auto& [value, text] : outcomes) {
    if (value == outcome) return text;
  }
  throw std::logic_error("an outcome without a name");
}

Outcome parse_outcome(const std::string& text) {
  for (const auto& [value, name] : outcomes) {
    if (text == name) return value;
  }
  throw InputError("`" + text + "` is no outcome; they are holds, fails, not_run, not_applicable, not_triggered");
}

bool within_limits(const Verdict& verdict) {
  for (const auto& cell : verdict.cells) {
    for (const auto& check : cell.checks) {
      if (check.limit.starts_with("calibrated")) return true;
    }
  }
  return false;
}

Json to_json(const Verdict& verdict) {
  Json cells = Json::array();
  for (const auto& cell : verdict.cells) cells.push_back(to_json(cell));
  return {{"schema", schema},
          {"name", verdict.name},
          {"started", verdict.started},
          {"holds", verdict.holds},
          {"counts", verdict.counts.empty() ? Json::object() : Json(verdict.counts)},
          {"cells", std::move(cells)},
          {"not_run", verdict.not_run},
          {"not_applicable", verdict.not_applicable},
          {"machine", verdict.machine}};
}

Verdict read_verdict(const std::filesystem::path& path) {
  return VerdictReader(path).verdict(read_json(path));
}

void write_verdict(const std::filesystem::path& path, const Verdict& verdict) {
  write_json(path, to_json(verdict));
}

}  // namespace plumbline
