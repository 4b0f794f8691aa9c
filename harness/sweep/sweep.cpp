// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <map>
#include <thread>

#include "harness/launch/last_error_line.hpp"
#include "harness/launch/launcher.hpp"
#include "harness/launch/stop_signals.hpp"
#include "harness/sweep/calibrate.hpp"
#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/parallel_jobs.hpp"
#include "harness/sweep/prepared_sweep.hpp"
#include "harness/sweep/removed_records.hpp"
#include "harness/sweep/run_size.hpp"
#include "harness/sweep/second_run.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_progress.hpp"
#include "harness/sweep/sweep_trainers.hpp"
#include "reports/failing_cells.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/terminal.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

class Sweep {
 public:
  Sweep(const PreparedSweep& sweep, const SweepOptions& options, const SweepServices& services, std::FILE* log)
      : file_(sweep.file),
        plan_(sweep.plan),
        kept_(kept_sweep(file_, plan_, sweep.all_cells)),
        options_(options),
        services_(services),
        log_(log),
        folder_(sweep.folder, file_.name, sweep.fingerprint, options.resume, to_json(kept_)),
        sizes_(sizes_of(file_, plan_)),
        progress_(log, plan_.references.size() + plan_.cells.size(), total_work()),
        trainers_(file_, sweep.inputs, options.trainers, folder_, signals_, [this] { at_glance(); }),
        second_runs_(file_, plan_, folder_, trainers_, services, signals_),
        references_(plan_.references.size()),
        lost_references_(plan_.references.size()),
        not_finite_(plan_.references.size()) {}

  Verdict run() {
    for (const std::string& note : file_.notes) progress_.line(note);
    for (const auto& why : folder_.forgotten()) progress_.line(why + "; the case is judged again");
    try {
      run_references();
      run_cells();
    } catch (const Error& error) {
      if (stopped_by_.empty()) stopped_by_ = error.what();
      settle_what_ended();  // before the folder may go
      if (!folder_.is_there()) {
        throw SystemError(
            folder_.path().string() +
            ": the sweep's folder was removed while it ran, and what had finished with it; start the sweep "
            "again");
      }
      if (error.code() == ExitCode::bad_input && cells_.empty() && !options_.resume) {
        // There are no results, and the corrected file would be another sweep: release the folder.
        folder_.discard();
        throw;
      }
      // Write the verdict of finished cases whatever stopped the others. On a full disk that fails, too, and the first
      // error is reported.
      try {
        add_kept_verdicts();
        finish();
      } catch (const Error&) {
      }
      if (error.code() == ExitCode::bad_input) throw InputError(and_how_to_continue(stopped_by_));
      throw SystemError(and_how_to_continue(stopped_by_));
    }
    const Verdict verdict = finished();
    if (!plan_.cells.empty() && without_machine_.size() == plan_.cells.size())
      throw SystemError(fmt::format("no case of the sweep could run on this machine: {}; report: {}",
                                    without_machine_.front(), (folder_.path() / "report.html").string()));
    return verdict;
  }

 private:
  std::string and_how_to_continue(const std::string& why) const {
    const auto kept =
        std::ranges::count_if(plan_.cells, [&](const PlannedCell& cell) { return folder_.keeps_cell(cell.plan.id); });
    return fmt::format("{}. {} of {} cases are finished and kept; continue with:\n{}", why, kept, plan_.cells.size(),
                       wrapped_command(resume_command(options_, folder_.path()), line_width(stderr), 2));
  }

  Verdict finished() {
    try {
      return finish();
    } catch (const SystemError& error) {  // the disk is full
      throw SystemError(and_how_to_continue(error.what()));
    }
  }

  static std::vector<RunSize> sizes_of(const SweepFile& file, const SweepPlan& plan) {
    std::vector<RunSize> sizes;
    for (const auto& reference : plan.references) sizes.push_back(run_size(file, reference));
    return sizes;
  }

  /// Only for the estimate.
  double work_of(const PlannedCell& cell) const {
    return rough_seconds(sizes_[cell.reference], cell.plan.world) *
           ((cell.plan.repeat ? 2 : 1) + (cell.resumes_from ? 1 : 0));
  }
  double work_of(std::size_t reference) const {
    constexpr double of_a_calibration = 22;  // the run, its float64 reference and the perturbed runs
    return rough_seconds(sizes_[reference], 1) * (file_.calibrated ? of_a_calibration : 1);
  }
  double total_work() const {
    double work = 0;
    for (std::size_t i = 0; i < plan_.references.size(); ++i) work += work_of(i);
    for (const auto& cell : plan_.cells) work += work_of(cell);
    return work;
  }

  /// During runs; for single runs, in their thread.
  void at_glance() {
    if (std::this_thread::get_id() != thread_) return;
    if (judging_.valid() && judging_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) settle();
    progress_.tick();
    signals_.asked();  // SIGPIPE of the log is pending only in this thread
  }

  void check_stop(const std::string& before) {
    if (signals_.asked()) throw SystemError(fmt::format("stopped by {} before {}", signals_.name(), before));
  }

  void run_references() {
    std::vector<SlottedRun> runs;
    for (std::size_t index = 0; index < plan_.references.size(); ++index) {
      const PlannedReference& reference = plan_.references[index];
      const std::string id = "reference-" + reference.id;
      lost_references_[index] = !fs::exists(folder_.reference(reference.id));
      if (const auto kept = folder_.finished_launch(id);
          kept && kept->exit_code == 0 && !lost_references_[index] && !lacks_record(index)) {
        references_[index] = *kept;
        progress_.skip(work_of(index));
        ++said_;
        continue;
      }
      if (file_.calibrated) {
        check_stop(id);
        calibrate_reference(index);
        continue;
      }
      runs.push_back({1,
                      [this, id, index] {
                        check_stop(id);
                        progress_.begin(id, work_of(index));
                      },
                      [this, id, index, &reference](const std::vector<std::int64_t>& slots) {
                        references_[index] = trainers_of(slots).run(reference, id, folder_.reference(reference.id));
                      },
                      [this, id, index] { end_reference(id, index); }});
    }
    run_parallel_jobs(runs, options_.jobs, [this] { at_glance(); });
  }

  void end_reference(const std::string& id, std::size_t index) {
    progress_.end(id);
    const PlannedReference& reference = plan_.references[index];
    const LaunchFinding& finding = *references_[index];
    if (!reference.command && finding.exit_code == static_cast<int>(ExitCode::bad_input)) {
      throw InputError(with_original(last_error_line(folder_.launch(id) / "stderr.txt", reference_program),
                                     folder_.launch(id) / "run.toml", reference.run));
    }
    const auto why = why_unusable(index);
    say(id, why ? "FAILED" : "done", finding.seconds, !why ? "" : finding.ended_well() ? *why : finding.words);
  }

  /// The reason why no case can be compared with a finished reference.
  std::optional<std::string> why_unusable(std::size_t index) {
    const LaunchFinding& finding = *references_[index];
    if (!finding.ended_well()) return "its reference did not finish: " + finding.words;
    if (!not_finite_[index])
      not_finite_[index] = why_not_finite(folder_.reference(plan_.references[index].id)).value_or("");
    return not_finite_[index]->empty() ? std::nullopt : not_finite_[index];
  }

  /// Without parallel jobs a run has all slots.
  SweepTrainers trainers_of(const std::vector<std::int64_t>& slots) const {
    return options_.jobs > 1 ? trainers_.on(slots) : trainers_;
  }

  /// True if cases remain to be judged that need a reference's removed record.
  bool lacks_record(std::size_t reference) const {
    return record_was_removed(folder_.reference(plan_.references[reference].id)) &&
           std::ranges::any_of(plan_.cells,
                               [&](const PlannedCell& cell) { return cell.reference == reference && !finished(cell); });
  }

  /// A verdict that remains valid. --again repeats failing cases; cases whose reference was lost are judged again.
  std::optional<CellVerdict> finished(const PlannedCell& cell) const {
    const auto kept = folder_.finished_cell(cell.plan.id);
    const bool stands = kept && (kept->holds || !(options_.again || lost_references_[cell.reference]));
    return stands ? kept : std::nullopt;
  }

  /// Adds cases that this run did not reach and an earlier one finished.
  void add_kept_verdicts() {
    for (const auto& cell : plan_.cells) {
      if (std::ranges::find(cells_, cell.plan.id, &CellVerdict::id) != cells_.end()) continue;
      if (const auto kept = finished(cell)) cells_.push_back(*kept);
    }
  }

  /// Runs the reference with its calibration. If equivalent changes already exceed the limits, its cases get no
  /// verdict.
  void calibrate_reference(std::size_t index) {
    const PlannedReference& reference = plan_.references[index];
    CalibrateOptions options;
    options.run_file = reference.run;
    options.changes = reference.changes;
    options.folder = folder_.calibration(reference.id);
    options.device = file_.device;
    options.trainers = options_.trainers;
    options.resume = fs::exists(options.folder / "calibrating.json");
    options.label = "calibration-" + reference.id + ", ";
    options.resume_words = " ";
    if (!reference.accumulation.empty()) {
      options.accumulation = folder_.launch("calibration-" + reference.id) / "accumulation.csv";
      make_folder(options.accumulation->parent_path());
      write_file(*options.accumulation, reference.accumulation);
    }
    make_folder(options.folder.parent_path());
    progress_.begin("calibration-" + reference.id, work_of(index));
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
    make_folder(folder_.reference(reference.id).parent_path());
    std::error_code ignored;
    fs::remove(folder_.reference(reference.id), ignored);
    fs::create_directory_symlink(fs::path("..") / "calibrations" / reference.id / "reference",
                                 folder_.reference(reference.id));
    make_folder(folder_.launch("reference-" + reference.id));
    write_json(folder_.launch("reference-" + reference.id) / "finding.json", to_json(finding));
    references_[index] = finding;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    const bool done = finding.exit_code == 0;
    say("calibration-" + reference.id, done ? "done" : "FAILED", took.count(), done ? "" : finding.words);
  }

  void run_cells() {
    std::vector<SlottedRun> runs;
    std::vector<CellPlan> ended(plan_.cells.size());
    for (std::size_t index = 0; index < plan_.cells.size(); ++index) {
      const PlannedCell& cell = plan_.cells[index];
      if (const auto kept = finished(cell)) {
        cells_.push_back(*kept);
        progress_.skip(work_of(cell));
        ++said_;
        continue;
      }
      if (const auto why = why_unusable(cell.reference)) {
        not_run_[cell.plan.id] = *why;
        note_machine(cell, *references_[cell.reference]);
        continue;
      }
      runs.push_back({cell.plan.world,
                      [this, &cell] {
                        check_stop(cell.plan.id);
                        progress_.begin(cell.plan.id, work_of(cell));
                      },
                      [this, &cell, &own = ended[index]](const std::vector<std::int64_t>& slots) {
                        own = run_cell(cell, trainers_of(slots));
                      },
                      [this, &cell, &own = ended[index]] {
                        progress_.end(cell.plan.id);
                        note_machine(cell, *own.launch);
                        to_judge_.push_back(std::move(own));
                        judge_next();
                      }});
    }
    run_parallel_jobs(runs, options_.jobs, [this] { at_glance(); });
    settle_all();
    replay_norms();
    run_failures_again();
  }

  /// The first step whose parameters were not compared; nullopt if all were, or none.
  static std::optional<std::int64_t> first_update_not_compared(const CellVerdict& verdict) {
    const auto parameters = std::ranges::find(verdict.checks, "parameters", &CheckResult::name);
    return parameters == verdict.checks.end() ? std::nullopt : parameters->from_step;
  }

  /// True if the values were compared up to a step, as where clip coefficients differ by a rounding, and the reference
  /// can replay the case's norms and has not yet.
  bool needs_replay(const CellVerdict& verdict) const {
    if (!first_update_not_compared(verdict) || !(verdict.holds || verdict.incomplete())) return false;
    const auto& command = plan_.references[planned(verdict.id).reference].command;
    if (!command || !uses_placeholder(*command, norms_placeholder)) return false;
    const bool recorded = folder_.finished_launch(verdict.id) && !record_was_removed(folder_.cell(verdict.id));
    return recorded && !folder_.finished_replay(verdict.id);
  }

  /// Runs the reference once more for each case that needs it, and judges the case by that record.
  void replay_norms() {
    std::vector<SlottedRun> runs;
    for (CellVerdict& verdict : cells_) {
      if (!needs_replay(verdict)) continue;
      const std::string id = "replay-" + verdict.id;
      runs.push_back({1, [this, id] { check_stop(id); },
                      [this, id, &verdict](const std::vector<std::int64_t>& slots) {
                        const PlannedReference& reference = plan_.references[planned(verdict.id).reference];
                        trainers_of(slots).run(replaying(reference, folder_.cell(verdict.id)), id,
                                               folder_.replay(verdict.id));
                      },
                      [this, &verdict] {
                        verdict = judge_case(with_findings(planned(verdict.id)), folder_, services_);
                        folder_.keep_cell(verdict);
                        progress_.line(fmt::format("{}, its norms replayed by the reference: {}", verdict.id,
                                                   progress_words(verdict)));
                      }});
    }
    run_parallel_jobs(runs, options_.jobs, [this] { at_glance(); });
  }

  const PlannedCell& planned(const std::string& id) const {
    return *std::ranges::find(
        plan_.cells, id, [](const PlannedCell& each) -> const auto& { return each.plan.id; });
  }

  /// The plan of a case whose runs have ended.
  CellPlan with_findings(const PlannedCell& cell) const {
    CellPlan plan = cell.plan;
    plan.launch = folder_.finished_launch(plan.id);
    plan.reference_launch = *references_[cell.reference];
    plan.reference_request = plan_.references[cell.reference].request;
    if (plan.repeat) plan.repeat_launch = folder_.finished_launch("repeat-" + plan.id);
    return plan;
  }

  /// For our own trainers, whose exit code distinguishes failures of the machine.
  void note_machine(const PlannedCell& cell, const LaunchFinding& ended) {
    if (!cell.command && ended.exit_code == static_cast<int>(ExitCode::harness_failure))
      without_machine_.push_back(cell.plan.id + ": " + ended.words);
  }

  void run_failures_again() {
    for (auto& verdict : cells_) {
      if (verdict.holds || verdict.incomplete() || verdict.second_run) continue;
      const PlannedCell& cell = planned(verdict.id);
      check_stop(verdict.id + " was run again");
      second_runs_.run(cell, *references_[cell.reference], verdict);
      folder_.keep_cell(verdict);
      const bool again = verdict.second_run->outcome == SecondRun::Outcome::fails_again;
      const std::string like = looks_like(verdict);
      progress_.line(fmt::format("{} second run: {}{}", verdict.id,
                                 again                ? "fails again"
                                 : verdict.unstable() ? "UNSTABLE\n  " + verdict.second_run->words
                                                      : "not done\n  " + verdict.second_run->words,
                                 like.empty() ? "" : "\n  looks like: " + like));
    }
  }

  /// Executes a case's runs, in any thread; returns its plan with their findings.
  CellPlan run_cell(const PlannedCell& planned, const SweepTrainers& trainers) {
    const PlannedReference& reference = plan_.references[planned.reference];
    PlannedCell cell = planned;
    CellPlan& plan = cell.plan;
    if (file_.calibrated) start_from_calibration(cell, folder_.calibration(reference.id));
    // A run that has already ended is judged by its record if its verdict was not kept or was another judge's. It is
    // repeated if its record is incomplete, or on request.
    const bool anew = options_.again && folder_.finished_cell(plan.id);
    const auto ran = [&](const std::string& id, const fs::path& record) {
      const auto before = folder_.finished_launch(id);
      const bool whole = !anew && !record_was_removed(record);
      if (before && whole) return *before;
      if (id == plan.id) folder_.forget_replay(id);
      return trainers.run(cell, id, record);
    };
    plan.launch = ran(plan.id, folder_.cell(plan.id));
    plan.reference_launch = *references_[cell.reference];
    plan.reference_request = reference.request;
    if (plan.repeat && plan.launch->exit_code == 0)
      plan.repeat_launch = ran("repeat-" + plan.id, folder_.repeat(plan.id));
    return plan;
  }

  /// Judges one case at a time while the next ranks start, because starting is mostly waiting.
  void judge_next() {
    if (judging_.valid() || to_judge_.empty()) return;
    judging_ = std::async(std::launch::async, [this, ended = std::move(to_judge_.front())] {
      return judge_case(ended, folder_, services_);
    });
    to_judge_.pop_front();
  }

  /// Waits for the current verdict, stores and prints it.
  void settle() {
    if (!judging_.valid()) return;
    const CellVerdict cell = judging_.get();
    folder_.keep_cell(cell);
    cells_.push_back(cell);
    say(cell.id,
        needs_replay(cell)
            ? fmt::format("compared up to the update of step {}; the reference will run again with its norms",
                          *first_update_not_compared(cell))
            : progress_words(cell),
        cell.seconds, "");
    judge_next();
  }

  void settle_all() {
    judge_next();
    while (judging_.valid()) settle();
  }

  /// Of a sweep that ends with an error: judges all runs that have ended; the first error is reported.
  void settle_what_ended() {
    while (judging_.valid() || !to_judge_.empty()) {
      try {
        settle_all();
      } catch (const Error&) {
      }
    }
  }

  void say(const std::string& id, const std::string& state, double seconds, const std::string& why) {
    progress_.line(fmt::format("[{}/{}] {}  {:.1f} s  {}{}", ++said_, plan_.references.size() + plan_.cells.size(), id,
                               seconds, state, why.empty() ? "" : "\n  " + why));
  }

  Verdict finish() {
    const Verdict verdict =
        sweep_verdict(kept_, {references_, cells_, not_run_, "the sweep ended before: " + stopped_by_}, folder_,
                      services_.judge_reference, options_.harness);
    write_verdict(folder_.path() / "verdict.json", verdict);
    services_.write_reports(folder_.path());
    if (!options_.out) point_latest_to(folder_.path());
    if (stopped_by_.empty() && options_.keep_failures) remove_records_that_hold(plan_, verdict, folder_);
    return verdict;
  }

  const SweepFile& file_;
  const SweepPlan& plan_;
  KeptSweep kept_;
  const SweepOptions& options_;
  const SweepServices& services_;
  std::FILE* log_;
  StopSignals signals_;  // must precede the start of threads
  SweepFolder folder_;
  std::vector<RunSize> sizes_;  ///< of the references
  SweepProgress progress_;
  SweepTrainers trainers_;
  SecondRuns second_runs_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::vector<std::optional<LaunchFinding>> references_;  ///< in the plan's order
  std::vector<bool> lost_references_;                     ///< likewise: records that were removed
  std::vector<std::optional<std::string>> not_finite_;    ///< likewise: reason, empty if finite; nullopt: not inspected
  std::vector<CellVerdict> cells_;
  std::map<std::string, std::string> not_run_;
  std::vector<std::string> without_machine_;  ///< cases that failed because of the machine, with the reason
  std::string stopped_by_;
  std::size_t said_ = 0;
  std::deque<CellPlan> to_judge_;     ///< whose runs have ended
  std::future<CellVerdict> judging_;  // last member, because its thread uses those above
};

}  // namespace

SweepResult run_sweep(const SweepOptions& options, const SweepServices& services, std::FILE* log) {
  const PreparedSweep prepared = prepare_sweep(options);
  Sweep sweep(prepared, options, services, log);
  return {prepared.folder, sweep.run()};
}

}  // namespace plumbline
