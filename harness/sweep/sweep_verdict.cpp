// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_verdict.hpp"

#include <algorithm>

#include "harness/judge/limits/calibration_file.hpp"
#include "harness/judge/limits/within_limits.hpp"
#include "harness/sweep/finite_reference.hpp"
#include "harness/sweep/removed_records.hpp"
#include "harness/sweep/sweep_trainers.hpp"
#include "record/mesh.hpp"
#include "support/commits_behind.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

Json manifest_of(const fs::path& record) {
  try {
    return read_json(record_of_replica(record, {}) / "manifest.json");
  } catch (const Error&) {
    return Json::object();  // reported by the record's checks
  }
}

Json part_of(const Json& manifest, const std::vector<std::string>& keys) {
  Json part = Json::object();
  for (const auto& key : keys) {
    if (manifest.is_object() && manifest.contains(key)) part[key] = manifest.at(key);
  }
  return part;
}

/// Name of the optimiser; empty if the manifest lacks it.
std::string name_of(const Json& part) {
  const Json name = part.value("optimizer", Json::object()).value("name", Json());
  return name.is_string() ? name.get<std::string>() : "";
}

Json versions_of(const Json& manifest) {
  Json versions = part_of(manifest, {"versions"}).value("versions", Json::object());
  if (!versions.is_object()) versions = Json::object();
  versions.update(part_of(manifest, {"device", "transport"}));
  return versions;
}

Json request_of(const fs::path& launch) {
  std::error_code missing;
  if (!fs::exists(launch / request_name, missing)) return nullptr;
  return read_json(launch / request_name);
}

judging::DataCoverageRequest bench_request(const KeptSweep& sweep, const KeptReference& reference,
                                           const SweepFolder& folder) {
  const auto& checks = sweep.selection.checks;
  const bool data_matter =
      checks.empty() || std::ranges::find(checks, "variable_lengths") != checks.end();  // the claim about the data
  judging::DataCoverageRequest request;
  request.requirement = reference.bench && data_matter ? Requirement::required : Requirement::informational;
  request.equal_lengths = reference.equal_lengths;
  if (sweep.comparison_mode == ComparisonMode::calibrated)
    request.loosest_loss =
        judging::loosest_loss(judging::read_calibration(folder.calibration(reference.id) / "calibration.json"));
  return request;
}

ReferenceVerdict reference_verdict(const KeptSweep& sweep, const KeptReference& kept,
                                   const std::optional<LaunchFinding>& finding, const SweepFolder& folder,
                                   const ReferenceJudge& judge) {
  ReferenceVerdict verdict;
  verdict.id = kept.id;
  verdict.run = kept.run;
  verdict.model = kept.model;
  verdict.optimizer = kept.optimizer;
  verdict.finished = finding && finding->exit_code == 0 && !finding->timed_out;
  verdict.reason = verdict.finished ? "" : finding ? finding->words : "it was not run";
  if (finding) verdict.seconds = finding->seconds;
  if (!verdict.finished) return verdict;
  const fs::path record = folder.reference(kept.id);
  if (const auto why = why_not_finite(record)) {
    verdict.finished = false;
    verdict.reason = *why;
    return verdict;
  }
  verdict.request = request_of(folder.launch("reference-" + kept.id));
  const Json manifest = manifest_of(record);
  verdict.versions = versions_of(manifest);
  if (verdict.optimizer.empty()) verdict.optimizer = name_of(part_of(manifest, {"optimizer"}));
  if (judge) verdict.checks = judge(record, bench_request(sweep, kept, folder));
  return verdict;
}

}  // namespace

std::vector<CheckResult> judge_reference(const fs::path& record, const judging::DataCoverageRequest& request) {
  return {judging::judge_data_coverage(judging::RecordReading(record_of_replica(record, {})), request)};
}

Verdict sweep_verdict(const KeptSweep& sweep, const SweepFindings& findings, const SweepFolder& folder,
                      const ReferenceJudge& judge, const Json& harness) {
  Verdict verdict;
  verdict.name = sweep.name;
  verdict.started = folder.started();
  verdict.comparison_mode = sweep.comparison_mode;
  verdict.selection = sweep.selection;
  verdict.harness = harness;
  if (harness.is_object() && harness.contains("commit") && harness.at("commit").is_string()) {
    if (const auto behind = commits_behind_head(harness.at("commit").get<std::string>()))
      verdict.harness["behind_head"] = *behind;
  }
  verdict.machine = Json::object();
  verdict.not_applicable = sweep.not_applicable;
  bool references_hold = true;
  for (std::size_t i = 0; i < sweep.references.size(); ++i) {
    const auto finding = i < findings.references.size() ? findings.references[i] : std::nullopt;
    const auto kept = kept_of_reference(folder.reference(sweep.references[i].id));
    verdict.references.push_back(kept ? kept->references.front()
                                      : reference_verdict(sweep, sweep.references[i], finding, folder, judge));
    const ReferenceVerdict& reference = verdict.references.back();
    references_hold = references_hold && std::ranges::none_of(reference.checks, is_blocking);
    if (kept && verdict.machine.empty()) verdict.machine = kept->machine;
    if (reference.finished && verdict.machine.empty()) {
      verdict.machine =
          part_of(manifest_of(folder.reference(reference.id)), {"device", "machine", "versions", "environment"});
    }
  }
  for (const auto& plan : sweep.cells) {
    const auto done = std::ranges::find(findings.cells, plan.id, &CellVerdict::id);
    if (done != findings.cells.end()) {
      verdict.cells.push_back(*done);
      verdict.cells.back().request = request_of(folder.launch(plan.id));
      continue;
    }
    const auto reason = findings.not_run.find(plan.id);
    verdict.not_run.push_back(plan.id + ": " +
                              (reason != findings.not_run.end() ? reason->second : findings.otherwise));
  }
  verdict.holds = references_hold && !verdict.cells.empty() && verdict.not_run.empty() &&
                  std::ranges::all_of(verdict.cells, &CellVerdict::holds);
  sum_up(verdict);
  return verdict;
}

}  // namespace plumbline
