// SPDX-License-Identifier: BSD-3-Clause
// Commit, time, machine, selection, and baseline of a sweep.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/headline.hpp"
#include "reports/page_parts.hpp"
#include "reports/words.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

std::string text_at(const Json& object, const char* part, const char* key) {
  if (!object.is_object() || !object.contains(part) || !object.at(part).is_object()) return "";
  const Json value = object.at(part).value(key, Json());
  if (value.is_null()) return "";
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

/// "c8a733c74d93 (clean)".
std::string commit_words(const std::string& commit) {
  constexpr std::string_view dirty = "-dirty";
  if (commit.empty()) return "unknown: built outside a checkout";
  if (commit.ends_with(dirty)) return commit.substr(0, commit.size() - dirty.size()) + " with uncommitted changes";
  return commit + " (clean)";
}

std::string commit_fact(const Verdict& verdict) {
  if (!verdict.harness.is_object() || !verdict.harness.contains("commit")) return "not known";
  const std::string judge = judge_commit(verdict).value_or("");
  const Json behind = verdict.harness.value("behind_head", Json());
  const std::string distance =
      behind.is_number_integer() && !judge.empty() && behind.get<std::int64_t>() > 0
          ? fmt::format(", {} behind the checkout's HEAD", count_text(behind.get<std::int64_t>(), "commit"))
          : "";
  const std::string trainers = text_at(verdict.machine, "versions", "commit");
  if (trainers.empty() || trainers == judge) return commit_words(judge) + distance;
  return fmt::format("trainers {}, judge {}{}", commit_words(trainers), commit_words(judge), distance);
}

std::string device_fact(const Verdict& verdict) {
  std::vector<std::string> parts;
  if (verdict.machine.is_object() && verdict.machine.contains("device") && verdict.machine.at("device").is_string())
    parts.push_back(verdict.machine.at("device").get<std::string>());
  for (const char* key : {"cpu_model", "cpu", "aten_capability", "isa"}) {
    if (const auto text = text_at(verdict.machine, "machine", key); !text.empty()) parts.push_back(text);
  }
  if (const auto cores = text_at(verdict.machine, "machine", "cores"); !cores.empty())
    parts.push_back(cores + " cores");
  if (const auto torch = text_at(verdict.machine, "versions", "libtorch"); !torch.empty())
    parts.push_back("LibTorch " + torch);
  return parts.empty() ? "not known" : join(parts, ", ");
}

std::string baseline_fact(const std::optional<BaselineResult>& baseline) {
  if (!baseline) return "none";
  std::string text = baseline->name;
  if (!baseline->commit_before.empty()) text += fmt::format(" (commit {})", baseline->commit_before);
  if (baseline->compared.empty()) return text + ": nothing was comparable";
  const std::string red = baseline->red.empty() ? ""
                                                : "; " + count_text(std::ssize(baseline->red), "case") +
                                                      (baseline->red.size() == 1 ? " does" : " do") + " not hold";
  if (baseline->changes.empty()) return text + ": equal in " + baseline->compared + red;
  std::map<std::string, std::int64_t> kinds;
  for (const auto& change : baseline->changes) ++kinds[change.kind];
  std::vector<std::string> counts;
  for (const auto& [kind, count] : kinds) counts.push_back(fmt::format("{} of {}", grouped(count), kind));
  return fmt::format("{}: {} ({})", text, baseline->holds ? "changed as allowed" : "CHANGED", join(counts, ", ")) + red;
}

}  // namespace

void fill_facts(PageData& page, const Verdict& verdict, const Evidence& evidence) {
  PageData facts = page_list();
  const auto add = [&](const char* name, const std::string& value) {
    facts.push_back(page_row({{"name", name}, {"value", value}}));
  };
  add("Commit", commit_fact(verdict));
  add("Sweep", (verdict.name.empty() ? "without a name" : verdict.name) +
                   (verdict.started.empty() ? "" : ", " + verdict.started));
  add("Machine", device_fact(verdict));
  add("Mode", verdict.comparison_mode == ComparisonMode::bits ? "bits: equal bit for bit"
                                                              : "calibrated: within measured limits, not in bits");
  add("Selection", selection_words(verdict));
  add("Baseline", baseline_fact(evidence.baseline));
  page.set("facts", facts);
}

}  // namespace plumbline
