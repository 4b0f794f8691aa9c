// SPDX-License-Identifier: BSD-3-Clause
#include "harness/baseline/baseline_comparison.hpp"

#include <algorithm>
#include <cmath>

#include "support/error.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

using Runs = std::map<std::string, const RunBaseline*>;

Runs by_id(const std::vector<RunBaseline>& runs) {
  Runs found;
  for (const RunBaseline& run : runs) found[run.id] = &run;
  return found;
}

/// "loss of step 3: 5.5 before, 5.25 now (-0.25)"; nullopt if all are equal.
std::optional<std::string> first_other(const char* what, const std::vector<std::string>& before,
                                       const std::vector<std::string>& now) {
  if (before.size() != now.size())
    return quantity(std::ssize(before), "step") + " with a " + what + " before, " + std::to_string(now.size()) + " now";
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] == now[i]) continue;
    std::string words = std::string(what) + " of step " + std::to_string(i) + ": " + before[i] + " before, ";
    words += now[i] + " now";
    const auto from = parse_double(before[i]), to = parse_double(now[i]);
    if (from && to && *from != 0 && std::isfinite(*from) && std::isfinite(*to))
      words += " (" + to_text(*to - *from) + ")";
    return words;
  }
  return std::nullopt;
}

/// "3 of 48 parameters at the end: model.norm.weight, ..."
std::optional<std::string> other_parameters(const std::map<std::string, std::string>& before,
                                            const std::map<std::string, std::string>& now) {
  constexpr std::size_t most_named = 3;
  std::vector<std::string> names;
  for (const auto& [name, digest] : before) {
    const auto found = now.find(name);
    if (found == now.end() || found->second != digest) names.push_back(name);
  }
  for (const auto& [name, digest] : now)
    if (!before.contains(name)) names.push_back(name);
  if (names.empty()) return std::nullopt;
  std::string words = std::to_string(names.size()) + " of " +
                      quantity(std::ssize(before.size() > now.size() ? before : now), "parameter");
  words += " at the end: ";
  const bool all = names.size() <= most_named;
  if (!all) names.resize(most_named);
  return words + join(names, ", ") + (all ? "" : ", ...");
}

std::string bytes_change(const std::string& what, std::int64_t before, std::int64_t now) {
  const std::int64_t more = now - before;
  return what + " " + std::to_string(before) + " before, " + std::to_string(now) + " now (" + (more > 0 ? "+" : "") +
         std::to_string(more) + ")";
}

constexpr std::size_t most_keys_named = 6;

/// ": steps 5 before, 6 now"; empty if the keys were not stored.
std::string differing_keys(const RequestKeys& before, const RequestKeys& now) {
  if (before.empty() || now.empty()) return "";
  std::vector<std::string> words = request_differences(before, now);
  const bool all = words.size() <= most_keys_named;
  const std::size_t more = words.size() - std::min(words.size(), most_keys_named);
  if (!all) words.resize(most_keys_named);
  return ": " + join(words, "; ") + (all ? "" : "; and " + quantity(static_cast<std::int64_t>(more), "other key"));
}

class Comparing {
 public:
  Comparing(const Baseline& before, const Baseline& now) : before_(before), now_(now) {
    result_.name = before.name;
    result_.sweep = now.sweep;
    result_.commit_before = before.commit;
    result_.commit_now = now.commit;
    environment(before.environment, now.environment, "");
    for (const auto& [key, value] : before.code_path.items())
      if (now.code_path.value(key, Json()) != value) same_path_ = false;
    if (!same_path_)
      result_.not_compared.push_back(
          "bits: these were computed on another code path (differences below); make a baseline there");
  }

  BaselineComparison compare() {
    runs(before_.references, now_.references);
    runs(before_.cells, now_.cells);
    for (const auto& [id, words] : now_.red) result_.red.push_back(id + ": " + words);
    return std::move(result_);
  }

 private:
  void environment(const Json& before, const Json& now, const std::string& key) {
    if (before.is_object() && now.is_object()) {
      std::set<std::string> keys;
      for (const auto& [name, value] : before.items()) keys.insert(name);
      for (const auto& [name, value] : now.items()) keys.insert(name);
      for (const std::string& name : keys)
        environment(before.value(name, Json()), now.value(name, Json()), key.empty() ? name : key + "/" + name);
      return;
    }
    if (key == "versions/commit") return;  // reported as a range of commits
    if (before != now) result_.environment.push_back({key, json_text(before), json_text(now)});
  }

  void runs(const std::vector<RunBaseline>& before, const std::vector<RunBaseline>& now) {
    const Runs earlier = by_id(before), later = by_id(now);
    for (const RunBaseline& run : before) {
      const auto found = later.find(run.id);
      if (found == later.end() && now_.red.contains(run.id))
        result_.not_compared.push_back(run.id + ": does not hold, and left no readable record");
      else if (found == later.end())
        change(ChangeKind::coverage, run.id, "was run before but not now");
      else if (run.asked.empty() || found->second->asked.empty())
        result_.not_compared.push_back(run.id + ": its verdict lacks the request (plumbline judge adds it)");
      else if (run.asked != found->second->asked)
        result_.not_compared.push_back(run.id + ": another run was requested under this name" +
                                       differing_keys(run.request, found->second->request));
      else
        compare(run, *found->second);
    }
    for (const RunBaseline& run : now)
      if (!earlier.contains(run.id)) result_.not_compared.push_back(run.id + ": is not in the baseline");
  }

  void compare(const RunBaseline& before, const RunBaseline& now) {
    ++result_.runs;
    const bool red = now_.red.contains(now.id);  // already reported there
    for (const auto& [check, outcome] : before.outcomes) {
      const auto found = now.outcomes.find(check);
      const std::string outcome_now = found == now.outcomes.end() ? "not there" : found->second;
      if (!red && outcome == "holds" && outcome_now != "holds")
        change(ChangeKind::coverage, before.id, "check " + check + ": held before, " + outcome_now + " now");
    }
    if (same_path_) bits(before, now);
    bytes(before, now);
  }

  /// A case without its own values has those of its reference.
  template <typename Values>
  static const Values& values(const Baseline& baseline, const RunBaseline& run, Values RunBaseline::*field) {
    const auto reference = baseline.reference_of.find(run.id);
    if (!(run.*field).empty() || reference == baseline.reference_of.end()) return run.*field;
    return *std::ranges::find(baseline.references, reference->second, &RunBaseline::id).*field;
  }

  void bits(const RunBaseline& before, const RunBaseline& now) {
    const auto& losses = values(before_, before, &RunBaseline::losses);
    const auto& parameters = values(before_, before, &RunBaseline::parameters);
    result_.losses += static_cast<std::int64_t>(losses.size());
    result_.parameters += static_cast<std::int64_t>(parameters.size());
    std::vector<std::string> words;
    const auto take = [&](std::optional<std::string> one) {
      if (one) words.push_back(std::move(*one));
    };
    take(first_other("loss", losses, values(now_, now, &RunBaseline::losses)));
    take(first_other("gradient norm", values(before_, before, &RunBaseline::gradient_norms),
                     values(now_, now, &RunBaseline::gradient_norms)));
    take(other_parameters(parameters, values(now_, now, &RunBaseline::parameters)));
    if (!words.empty()) change(ChangeKind::bits, before.id, join(words, "; "));
  }

  void bytes(const RunBaseline& before, const RunBaseline& now) {
    for (const auto& [unit, count] : before.saved_bytes) {
      const auto found = now.saved_bytes.find(unit);
      ++result_.byte_counts;
      const std::int64_t count_now = found == now.saved_bytes.end() ? 0 : found->second;
      if (count_now != count)
        change(ChangeKind::bytes, before.id, bytes_change("kept for the backward pass by " + unit, count, count_now));
    }
    for (std::size_t i = 0; i < std::max(before.ranks.size(), now.ranks.size()); ++i) {
      if (i >= before.ranks.size() || i >= now.ranks.size()) {
        change(ChangeKind::coverage, before.id, "has a different number of ranks");
        return;
      }
      rank_bytes(before.id, before.ranks[i], now.ranks[i]);
    }
  }

  void rank_bytes(const std::string& id, const RankBytes& before, const RankBytes& now) {
    for (const auto& [name, count] : before.bytes) {
      const auto found = now.bytes.find(name);
      ++result_.byte_counts;
      const std::int64_t count_now = found == now.bytes.end() ? 0 : found->second;
      if (count_now == count) continue;
      std::string words = bytes_change("rank " + std::to_string(before.rank) + ": " + name, count, count_now);
      if (name == "peak_bytes" || name == "activation_peak_bytes") {
        words += ", the peak at action " + (before.peak_action.empty() ? "?" : before.peak_action);
        if (now.peak_action != before.peak_action) words += ", now at " + now.peak_action;
      }
      change(ChangeKind::bytes, id, words);
    }
  }

  void change(ChangeKind kind, const std::string& where, const std::string& words) {
    result_.changes.push_back({kind, where, words});
  }

  const Baseline& before_;
  const Baseline& now_;
  BaselineComparison result_;
  bool same_path_ = true;
};

std::string commits(const BaselineComparison& comparison) {
  return comparison.commit_before.empty() || comparison.commit_now.empty()
             ? ""
             : ", commits " + comparison.commit_before + ".." + comparison.commit_now;
}

std::string verdict_line(const BaselineComparison& comparison) {
  if (comparison.nothing() && comparison.red.empty()) return "NOTHING COMPARABLE with baseline " + comparison.name;
  if (!comparison.red.empty()) return "DOES NOT HOLD, compared with baseline " + comparison.name;
  if (comparison.changes.empty()) return "EQUAL to baseline " + comparison.name;
  return (comparison.holds() ? "CHANGED AS ALLOWED since baseline " : "CHANGED since baseline ") + comparison.name;
}

}  // namespace

std::string to_text(ChangeKind kind) {
  return kind == ChangeKind::bits ? "bits" : kind == ChangeKind::bytes ? "bytes" : "coverage";
}

ChangeKind parse_change_kind(const std::string& text) {
  for (const ChangeKind kind : {ChangeKind::bits, ChangeKind::bytes, ChangeKind::coverage})
    if (to_text(kind) == text) return kind;
  throw InputError("\"" + text + "\" is not a kind of change; give bits, bytes or coverage");
}

bool BaselineComparison::holds() const {
  return red.empty() &&
         std::ranges::all_of(changes, [&](const BaselineChange& change) { return allowed.contains(change.kind); });
}

BaselineComparison compare_baselines(const Baseline& before, const Baseline& now) {
  return Comparing(before, now).compare();
}

Json to_json(const BaselineComparison& comparison) {
  Json json = {{"schema", baseline_comparison_schema},
               {"baseline", comparison.name},
               {"sweep", comparison.sweep},
               {"holds", comparison.holds() && !comparison.nothing()},
               {"commit_before", comparison.commit_before},
               {"commit_now", comparison.commit_now},
               {"compared",
                {{"runs", comparison.runs},
                 {"losses", comparison.losses},
                 {"parameters", comparison.parameters},
                 {"byte_counts", comparison.byte_counts}}},
               {"changes", Json::array()},
               {"environment", Json::array()},
               {"not_compared", comparison.not_compared},
               {"red", comparison.red},
               {"allowed", Json::array()},
               {"reason", comparison.reason}};
  for (const BaselineChange& change : comparison.changes)
    json["changes"].push_back({{"kind", to_text(change.kind)}, {"where", change.where}, {"words", change.words}});
  for (const EnvironmentDifference& difference : comparison.environment)
    json["environment"].push_back({{"key", difference.key}, {"before", difference.before}, {"now", difference.now}});
  for (const ChangeKind kind : comparison.allowed) json["allowed"].push_back(to_text(kind));
  return json;
}

std::string to_text(const BaselineComparison& comparison) {
  std::string text = verdict_line(comparison) + commits(comparison) + "\n";
  text += "compared: " + quantity(comparison.runs, "run") + ", " + quantity(comparison.losses, "loss") + ", " +
          quantity(comparison.parameters, "parameter") + " at the end, " + std::to_string(comparison.byte_counts) +
          " numbers of bytes\n";
  if (!comparison.red.empty()) text += "does not hold:\n";
  for (const std::string& line : comparison.red) text += "  " + line + "\n";
  for (const ChangeKind kind : {ChangeKind::bits, ChangeKind::bytes, ChangeKind::coverage}) {
    std::string lines;
    for (const BaselineChange& change : comparison.changes)
      if (change.kind == kind) lines += "  " + change.where + ": " + change.words + "\n";
    if (lines.empty()) continue;
    const bool allowed = comparison.allowed.contains(kind);
    text += to_text(kind) + (allowed ? " (allowed: " + comparison.reason + ")" : std::string()) + ":\n";
    text += lines;
  }
  if (!comparison.environment.empty()) {
    text += "what differs in machine, versions and environment:\n";
    for (const EnvironmentDifference& difference : comparison.environment)
      text += "  " + difference.key + ": " + difference.before + " before, " + difference.now + " now\n";
  }
  if (!comparison.not_compared.empty()) {
    text += "not compared:\n";
    for (const std::string& line : comparison.not_compared) text += "  " + line + "\n";
  }
  return text;
}

}  // namespace plumbline
