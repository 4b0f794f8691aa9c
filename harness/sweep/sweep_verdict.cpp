// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_verdict.hpp"

#include <algorithm>
#include <cmath>

#include "harness/judge/limits/value_comparison.hpp"
#include "harness/sweep/sweep_trainers.hpp"
#include "record/mesh.hpp"
#include "record/rank_folder.hpp"
#include "support/commit.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"

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

/// Name of the optimizer; empty if the manifest lacks it.
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
  return path_exists(launch / request_name) ? read_json(launch / request_name) : Json();
}

judging::BenchRequest bench_request(const KeptSweep& sweep, const KeptReference& reference, const SweepFolder& folder) {
  const auto& checks = sweep.selection.checks;
  const bool data_matter = checks.empty() || std::ranges::find(checks, "boundaries") != checks.end();
  judging::BenchRequest request;
  request.required = reference.bench && data_matter;
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
  verdict.finished = finding && finding->ended_well();
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
  for (CheckResult& check : verdict.checks)
    check.accepted = sweep.accept_gaps && !check.required && check.outcome == Outcome::incomplete;
  return verdict;
}

/// The first step of one rank with a number that is not finite.
struct Place {
  std::int64_t step = 0;
  std::string words;
};

std::optional<Place> first_place(const CsvTable& table) {
  const std::size_t step = table.column("step"), rate = table.column("learning_rate");
  std::string last_rate;
  for (const CsvRow& row : table.rows) {
    for (const auto& [column, name] : {std::pair("loss", "loss"), std::pair("gradient_norm", "gradient norm")}) {
      const std::string& text = row.cells[table.column(column)];
      const auto value = parse_double(text);
      if (!value || std::isfinite(*value)) continue;
      const std::string& behind = last_rate.empty() ? row.cells[rate] : last_rate;
      return Place{parse_integer(row.cells[step]).value_or(0),
                   std::string(name) + " " + text + (behind.empty() ? "" : "; learning rate " + behind)};
    }
    last_rate = row.cells[rate];
  }
  return std::nullopt;
}

}  // namespace

std::vector<CheckResult> judge_reference(const fs::path& record, const judging::BenchRequest& request) {
  return {judging::check_bench(judging::RecordReading(record_of_replica(record, {})), request)};
}

Json machine_of(const fs::path& record) {
  return part_of(manifest_of(record), {"device", "machine", "versions", "environment"});
}

fs::path reference_of_case(const CellPlan& plan, const SweepFolder& folder) {
  const auto replay = folder.finished_replay(plan.id);
  return replay && replay->ended_well() ? folder.replay(plan.id) : folder.reference(plan.reference);
}

CellVerdict judge_case(CellPlan plan, const SweepFolder& folder, const SweepServices& services) {
  const auto repeated = plan.repeat_launch ? std::optional(folder.repeat(plan.id)) : std::nullopt;
  plan.replay_launch = folder.finished_replay(plan.id);
  if (plan.replay_launch && plan.replay_launch->ended_well()) plan.reference_launch = plan.replay_launch;
  CellVerdict verdict = services.judge(plan, reference_of_case(plan, folder), folder.cell(plan.id), repeated);
  verdict.seconds = plan.launch->seconds;
  return verdict;
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
  if (!sweep.commit.empty()) verdict.harness["your_commit"] = sweep.commit;
  if (!sweep.folder.empty()) verdict.harness["folder"] = sweep.folder;
  verdict.machine = Json::object();
  verdict.not_applicable = sweep.not_applicable;
  bool references_hold = true;
  const auto references = sweep.references();
  for (std::size_t i = 0; i < references.size(); ++i) {
    const auto finding = i < findings.references.size() ? findings.references[i] : std::nullopt;
    verdict.references.push_back(reference_verdict(sweep, references[i], finding, folder, judge));
    const ReferenceVerdict& reference = verdict.references.back();
    references_hold = references_hold && none_blocks(reference.checks);
    if (reference.finished && verdict.machine.empty()) {
      verdict.machine = machine_of(folder.reference(reference.id));
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

std::optional<std::string> why_not_finite(const std::filesystem::path& record) try {
  const auto replica = record_of_replica(record, {});
  std::optional<Place> first;
  for (std::int64_t rank = 0; folder_exists(replica / rank_folder(rank)); ++rank) {
    const auto place = first_place(read_csv(replica / rank_folder(rank) / "steps.csv",
                                            {"step", "loss", "gradient_norm", "learning_rate"}, most_by_program));
    if (place && (!first || place->step < first->step)) first = place;
  }
  if (!first) return std::nullopt;
  return "the reference is not finite from step " + std::to_string(first->step) + " on (" + first->words + ")";
} catch (const Error&) {
  return std::nullopt;
}

}  // namespace plumbline
