// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_references.hpp"

#include <chrono>

#include "harness/launch/last_error_line.hpp"
#include "harness/sweep/calibrate.hpp"
#include "harness/sweep/parallel_jobs.hpp"
#include "harness/sweep/sweep_verdict.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/paths.hpp"

namespace plumbline {

namespace fs = std::filesystem;

void SweepReferences::run(const std::function<void()>& tick) {
  std::vector<SlottedRun> runs;
  for (std::size_t index = 0; index < plan_.references.size(); ++index) {
    const PlannedReference& reference = plan_.references[index];
    const std::string id = launch_of(index);
    const fs::path record = folder_.reference(reference.id);
    const auto whole = folder_.whole_launch(id, reference.inputs);
    if (whole && whole->exit_code == 0 && path_exists(record)) {
      findings_[index] = whole;
      progress_.skip(work_.of_reference(index));
      continue;
    }
    ran_now_[index] = true;
    if (file_.calibrated) {
      calibrate_reference(index);
      continue;
    }
    runs.push_back({1, [this, id, index] { progress_.begin(id, work_.of_reference(index)); },
                    [this, id, index, record](const std::vector<std::int64_t>& slots) {
                      findings_[index] = trainers_.on(slots).run(plan_.references[index], id, record);
                    },
                    [this, index] { end(index); }});
  }
  run_parallel_jobs(runs, options_.jobs, tick);
}

void SweepReferences::end(std::size_t index) {
  const std::string id = launch_of(index);
  const PlannedReference& reference = plan_.references[index];
  const LaunchFinding& finding = *findings_[index];
  progress_.end(id);
  if (!reference.command && finding.exit_code == static_cast<int>(ExitCode::bad_input)) {
    throw InputError(with_original(last_error_line(folder_.launch(id) / "stderr.txt", reference_program),
                                   folder_.launch(id) / "run.toml", reference.run));
  }
  const auto why = why_unusable(index);
  progress_.say(id, why ? "FAILED" : "done", finding.seconds, !why ? "" : finding.ended_well() ? *why : finding.words);
}

std::optional<std::string> SweepReferences::why_unusable(std::size_t index) {
  const LaunchFinding& finding = *findings_[index];
  if (!finding.ended_well()) return "reference " + plan_.references[index].id + " did not finish: " + finding.words;
  auto& why = not_finite_[index];
  if (!why) why = why_not_finite(folder_.reference(plan_.references[index].id)).value_or("");
  return why->empty() ? std::nullopt : why;
}

/// Runs the reference with its calibration. If equivalent changes already exceed the limits, its cases get no verdict.
void SweepReferences::calibrate_reference(std::size_t index) {
  const PlannedReference& reference = plan_.references[index];
  const std::string label = "calibration-" + reference.id;
  const fs::path launch = folder_.launch(launch_of(index)), record = folder_.reference(reference.id);
  make_way(record, launch, reference.inputs);
  CalibrateOptions options;
  options.run_file = reference.run;
  options.changes = reference.changes;
  options.folder = folder_.calibration(reference.id);
  options.device = file_.device;
  options.trainers = options_.trainers;
  options.resume = path_exists(options.folder / "calibrating.json");
  options.label = label + ", ";
  options.resume_words = " ";
  if (!reference.accumulation.empty()) {
    options.accumulation = folder_.launch(label) / "accumulation.csv";
    make_folder(options.accumulation->parent_path());
    write_file(*options.accumulation, reference.accumulation);
  }
  make_folder(options.folder.parent_path());
  progress_.begin(label, work_.of_reference(index));
  const auto begun = std::chrono::steady_clock::now();
  LaunchFinding finding;
  try {
    const bool holds = null_runs_hold(calibrate(options, signals_, log_));
    finding = read_launch_finding(options.folder / "launches" / "reference" / "finding.json");
    if (!holds)
      finding.exit_code = 1, finding.words = "perturbed references exceed the largest limit of its calibration";
  } catch (const RunError& error) {  // a trainer crashed: the sweep continues
    finding.exit_code = 1;
    finding.words = error.what();
  }
  progress_.end();
  fs::create_directory_symlink(fs::path("..") / "calibrations" / reference.id / "reference", record);
  write_json(launch / "finding.json", to_json(finding));
  findings_[index] = finding;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  const bool done = finding.exit_code == 0;
  progress_.say(label, done ? "done" : "FAILED", took.count(), done ? "" : finding.words);
}

}  // namespace plumbline
