// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/judge.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/judge/checks/checks.hpp"
#include "harness/judge/comparability.hpp"
#include "harness/judge/facts/expected.hpp"
#include "record/machine_differences.hpp"
#include "record/mesh.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {

using namespace judging;

namespace {

Json versions_of(const RecordReading& reading) {
  if (!reading.record()) return nullptr;
  const Manifest& manifest = reading.record()->manifest;
  const auto found = manifest.json.find("versions");
  Json versions = found != manifest.json.end() && found->is_object() ? *found : Json::object();
  versions["device"] = manifest.device;
  versions["transport"] = manifest.transport.empty() ? Json(nullptr) : Json(manifest.transport);
  return versions;
}

/// From the manifest, because the plan of users' commands does not know it.
std::string optimizer_of(const RecordReading& reading) {
  if (!reading.record()) return "";
  const Json& manifest = reading.record()->manifest.json;
  const auto found = manifest.find("optimizer");
  if (found == manifest.end() || !found->is_object()) return "";
  const auto name = found->find("name");
  return name != found->end() && name->is_string() ? name->get<std::string>() : "";
}

/// A record at level full, in which nothing is optional.
bool is_whole(const RecordReading& reading) {
  return reading.record() && reading.record()->manifest.conventions.optional.empty() &&
         reading.record()->manifest.level >= RecordLevel::full;
}

/// "torch 2.11.0 against 2.15.0; aten_capability AVX512 against AVX512 (rank 0), DEFAULT (rank 1)"; the first few.
/// Empty if all is equal.
std::string words_on_machines(const Record& reference, const Record& candidate) {
  std::vector<std::string> words;
  const auto torch = why_other_torch(reference.manifest, candidate.manifest);
  if (torch) words.push_back(*torch);
  for (const auto& [key, theirs, mine] : machine_differences(reference, candidate)) {
    const bool of_torch = key == "versions/torch" || key == "versions/libtorch" || key == "versions/onednn";
    const std::string name = key.substr(key.find('/') + 1);
    if (!torch || !of_torch) words.push_back(fmt::format("{} {} against {}", name, theirs, mine));
  }
  constexpr std::size_t most = 3;
  if (words.size() > most) {
    const std::size_t more = words.size() - most;
    words.resize(most);
    words.push_back(
        fmt::format("and {} in manifest.json", quantity(static_cast<std::int64_t>(more), "other difference")));
  }
  return join(words, "; ");
}

/// If bits differ, libraries, instruction sets and variables are the first suspects; also if a run ended for that
/// reason, as with differing copies of a tied weight.
void name_other_machines(const RecordReading& reference, const RecordReading& candidate, CellVerdict& verdict) {
  if (!verdict.first_divergence || !reference.record() || !candidate.record()) return;
  Finding& first = *verdict.first_divergence;
  if (!first.level.starts_with("R") && first.level != "completion") return;
  const std::string machines = words_on_machines(*reference.record(), *candidate.record());
  if (machines.empty()) return;
  first.words += "; other kernels are possible: " + machines;
}

/// A recorder's notes may explain the cause: replaced parameters, units that run in another order than listed.
void add_notes(const RecordReading& reference, const RecordReading& candidate, CellVerdict& verdict) {
  if (!verdict.first_divergence || !reference.record() || !candidate.record()) return;
  for (const auto& [whose, reading] : {std::pair("reference", &reference), std::pair("candidate", &candidate)}) {
    for (const RankRecord& rank : reading->record()->ranks) {
      for (const std::string& note : rank.exit ? rank.exit->notes : std::vector<std::string>())
        verdict.first_divergence->words += fmt::format("; noticed in the {} on rank {}: {}", whose, rank.rank, note);
    }
  }
}

/// Adds the step's number in the run if not every step was recorded.
void name_step_of_run(std::int64_t every, Finding& divergence) {
  if (divergence.step > 0) divergence.words += fmt::format(" (step {} of the run)", divergence.step * every);
}

void add_not_recorded(const char* whose, const Manifest& manifest, CellVerdict& verdict) {
  for (const NotRecorded& entry : manifest.not_recorded)
    verdict.not_recorded.push_back({whose, entry.what, entry.why, manifest.version_of("torch"), entry.from_step});
}

/// Reports steps and kinds of rows that were not recorded.
void report_skipped_parts(const Manifest& manifest, CellVerdict& verdict) {
  std::vector<std::string> left_out;
  for (const auto& [what, why, from_step] : manifest.not_recorded)
    left_out.push_back(fmt::format("{} (not recorded: {})", what, why));
  if (manifest.every > 1) {
    const std::string every = std::to_string(manifest.every);
    left_out.push_back(
        fmt::format("the steps in between: one of {0} was recorded, so step i here is step {0} i of the run", every));
    for (CheckResult& check : verdict.checks) {
      if (check.first_divergence) name_step_of_run(manifest.every, *check.first_divergence);
    }
    if (verdict.first_divergence) name_step_of_run(manifest.every, *verdict.first_divergence);
  }
  for (CheckResult& check : verdict.checks) {
    if (check.name == "completion") check.not_shown.insert(check.not_shown.end(), left_out.begin(), left_out.end());
  }
}

void report_keys_not_judged(const Manifest& reference, const Manifest& candidate, CellVerdict& verdict) {
  const auto keys = keys_not_judged(reference, candidate);
  for (CheckResult& check : verdict.checks) {
    if (check.name == "data" && !keys.empty())
      check.not_shown.push_back("settings that differ in one of several groups: " + join(keys, ", "));
  }
}

/// The first replica of a run; else the folder, whose reading reports why its replicas are not one run.
std::filesystem::path readable_part(const std::filesystem::path& folder) {
  try {
    const auto replicas = replica_folders(folder);
    return replicas.empty() ? folder : replicas.front();
  } catch (const InputError&) {
    return folder;
  }
}

}  // namespace

JudgedCell judging::judge_records(const CellPlan& plan, RecordReading& reference, RecordReading& candidate,
                                  RecordReading* repeated) {
  for (const auto& name : plan.checks) check_of(name);
  CellVerdict verdict;
  verdict.id = plan.id;
  verdict.run = plan.run;
  verdict.model = plan.model;
  verdict.schedule = plan.schedule;
  verdict.optimizer = plan.optimizer.empty() ? optimizer_of(candidate) : plan.optimizer;
  verdict.world = plan.world;
  verdict.replicas = plan.replicas;
  verdict.balance = plan.balance;
  verdict.variant = plan.variant;
  verdict.reference = plan.reference;
  verdict.command = plan.command;
  if (plan.launch) verdict.seconds = plan.launch->seconds;

  std::optional<ExecutionPoint> earliest;
  auto checks = judge_checks(plan, reference, candidate, repeated);
  // For a run without a readable record all claims are required; completion says why.
  const bool own = (!reference.record() || is_whole(reference)) && (!candidate.record() || is_whole(candidate));
  for (auto& judged : checks.results) {
    judged.result.required = is_required(plan, check_of(judged.result.name), own);
    if (reference.record() && candidate.record())
      note_missing(plan, *reference.record(), *candidate.record(), checks.norm_diverged_at, judged.result);
    if (judged.point && is_blocking(judged.result) && (!earliest || *judged.point < *earliest)) {
      earliest = judged.point;
      verdict.first_divergence = judged.result.first_divergence;
    }
    verdict.checks.push_back(std::move(judged.result));
  }
  name_other_machines(reference, candidate, verdict);
  add_notes(reference, candidate, verdict);
  if (reference.record() && candidate.record()) {
    const Manifest &theirs = reference.record()->manifest, &mine = candidate.record()->manifest;
    add_not_recorded("reference", theirs, verdict);
    add_not_recorded("candidate", mine, verdict);
    report_keys_not_judged(theirs, mine, verdict);
  }
  if (candidate.record()) report_skipped_parts(candidate.record()->manifest, verdict);
  verdict.versions = versions_of(candidate);
  verdict.holds = none_blocks(verdict.checks);
  return {std::move(verdict), earliest, own};
}

CellVerdict judge_cell(const CellPlan& plan, const std::filesystem::path& reference,
                       const std::filesystem::path& candidate, const std::optional<std::filesystem::path>& repeated) {
  std::vector<RecordsOfPipeline> pipelines;
  try {
    pipelines = pipelines_of(reference, candidate, repeated);
  } catch (const InputError&) {
    pipelines = {{{}, readable_part(reference), readable_part(candidate), repeated}};
  }
  return judge_pipelines(plan, pipelines, Unreadable::reported);
}

std::optional<std::string> not_applicable(const std::string& check, const CellPlan& plan, const Manifest& candidate) {
  const CheckDescriptor& found = check_of(check);
  return found.not_applicable ? found.not_applicable(plan, candidate) : std::nullopt;
}

const std::vector<std::string>& check_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& check : all_checks()) list.push_back(check.name);
    return list;
  }();
  return names;
}

}  // namespace plumbline
