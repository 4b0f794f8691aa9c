// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>
#include <map>
#include <thread>

#include "harness/launch/stop_signals.hpp"
#include "harness/sweep/calibrate.hpp"
#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/kept_verdict.hpp"
#include "harness/sweep/parallel_jobs.hpp"
#include "harness/sweep/prepared_sweep.hpp"
#include "harness/sweep/run_inputs.hpp"
#include "harness/sweep/run_size.hpp"
#include "harness/sweep/second_run.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_progress.hpp"
#include "harness/sweep/sweep_references.hpp"
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
        folder_(sweep.folder, file_.name, to_json(kept_), options.resume),
        work_(file_, plan_),
        progress_(log, plan_.references.size() + plan_.cells.size(), work_.total()),
        trainers_(file_, sweep.inputs, options.trainers, folder_, signals_, [this] { at_glance(); }),
        references_(file_, plan_, options, folder_, trainers_, work_, progress_, signals_, log),
        second_runs_(file_, plan_, folder_, trainers_, services, signals_) {}

  Verdict run() {
    forget_changed_runs();
    try {
      references_.run([this] { at_glance(); });
      run_cells();
    } catch (const Error& error) {
      stopped_by_ = error.what();
      settle_what_ended();  // before the folder may go
      if (!folder_.is_there()) {
        throw SystemError(
            folder_.path().string() +
            ": the sweep's folder was removed while it ran, and what had finished with it; start the sweep "
            "again");
      }
      if (error.code() == ExitCode::bad_input && cells_.empty() && !options_.resume) {
        // Nothing was run, and the corrected file would be another sweep: release the folder.
        folder_.discard();
        throw;
      }
      // Write the verdict of finished cases no matter what stopped the others. On a full disk that fails, too, and the
      // first error is reported.
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
        std::ranges::count_if(plan_.cells, [&](const PlannedCell& cell) { return kept_of(cell).has_value(); });
    return fmt::format("{}. {} of {} cases are finished and kept; continue with:\n{}", why, kept, plan_.cells.size(),
                       wrapped_command(resume_command(options_, folder_.path()), line_width(stderr), 2));
  }

  /// Removes runs whose inputs changed, and says how many cases and references run again for which input.
  void forget_changed_runs() {
    std::map<std::string, std::size_t> changed;
    const auto has_changed = [&](const std::string& launch, const RunInputs& now) {
      const RunInputs before = folder_.inputs_of(launch);
      const auto name = before.empty() ? std::nullopt : first_difference(before, now);
      if (name) ++changed[*name];
      return name.has_value();
    };
    for (const auto& reference : plan_.references)
      if (has_changed("reference-" + reference.id, reference.inputs)) folder_.forget_reference(reference.id);
    for (const auto& cell : plan_.cells)
      if (has_changed(cell.plan.id, cell.inputs)) folder_.forget_cell(cell.plan.id);
    for (const auto& [name, runs] : changed)
      progress_.line(fmt::format("{} changed: {} of {} runs are repeated", name, runs,
                                 plan_.references.size() + plan_.cells.size()));
  }

  Verdict finished() {
    try {
      return finish();
    } catch (const SystemError& error) {  // the disk is full
      throw SystemError(and_how_to_continue(error.what()));
    }
  }

  /// During runs; for single runs, in their thread.
  void at_glance() {
    if (std::this_thread::get_id() != thread_) return;
    if (judging_.valid() && judging_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) settle();
    progress_.tick();
    signals_.stop_requested();  // SIGPIPE of the log is pending only in this thread
  }

  /// The verdict on a case whose inputs and judge are still the same.
  std::optional<CellVerdict> kept_of(const PlannedCell& cell) const {
    return folder_.inputs_of(cell.plan.id) == cell.inputs ? kept_verdict(folder_, cell.plan, services_.version)
                                                          : std::nullopt;
  }

  /// The same, if it remains. --again repeats failing cases; if their reference has run again, they are judged again.
  std::optional<CellVerdict> finished(const PlannedCell& cell) const {
    const auto kept = kept_of(cell);
    const bool reusable = kept && (kept->holds || !(options_.again || references_.ran_now(cell.reference)));
    return reusable ? kept : std::nullopt;
  }

  /// Adds cases that this run did not reach and an earlier one finished.
  void add_kept_verdicts() {
    for (const auto& cell : plan_.cells) {
      if (std::ranges::find(cells_, cell.plan.id, &CellVerdict::id) != cells_.end()) continue;
      if (const auto kept = finished(cell)) cells_.push_back(*kept);
    }
  }

  void run_cells() {
    std::vector<SlottedRun> runs;
    std::vector<CellPlan> ended(plan_.cells.size());
    for (std::size_t index = 0; index < plan_.cells.size(); ++index) {
      const PlannedCell& cell = plan_.cells[index];
      if (const auto kept = finished(cell)) {
        cells_.push_back(*kept);
        progress_.skip(work_.of(cell));
        continue;
      }
      if (const auto why = references_.why_unusable(cell.reference)) {
        not_run_[cell.plan.id] = *why;
        note_machine(cell, reference_of(cell));
        continue;
      }
      runs.push_back({cell.plan.world, [this, &cell] { progress_.begin(cell.plan.id, work_.of(cell)); },
                      [this, &cell, &own = ended[index]](const std::vector<std::int64_t>& slots) {
                        own = run_cell(cell, trainers_.on(slots));
                      },
                      [this, &cell, &own = ended[index]] {
                        progress_.end(cell.plan.id);
                        note_machine(cell, *own.launch);
                        to_judge_.push_back(std::move(own));
                        judge_next();
                      }});
    }
    struct FailedFast {};
    try {
      run_parallel_jobs(runs, options_.jobs, [this] {
        at_glance();
        if (!stopped_by_.empty()) throw FailedFast();
      });
    } catch (const FailedFast&) {  // runs that had started have ended
    }
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
    return folder_.finished_launch(verdict.id) && !folder_.finished_replay(verdict.id);
  }

  /// Runs the reference again for each case that needs it, and compares the case with that record.
  void replay_norms() {
    std::vector<SlottedRun> runs;
    for (CellVerdict& verdict : cells_) {
      if (!needs_replay(verdict)) continue;
      const std::string id = "replay-" + verdict.id;
      runs.push_back({1, [] {},
                      [this, id, &verdict](const std::vector<std::int64_t>& slots) {
                        const PlannedReference& reference = plan_.references[planned(verdict.id).reference];
                        trainers_.on(slots).run(replaying(reference, folder_.cell(verdict.id)), id,
                                                folder_.replay(verdict.id));
                      },
                      [this, &verdict] {
                        CellPlan plan = with_reference(planned(verdict.id));
                        plan.launch = folder_.finished_launch(plan.id);
                        if (plan.repeat) plan.repeat_launch = folder_.finished_launch("repeat-" + plan.id);
                        verdict = judge_case(plan, folder_, services_);
                        keep(verdict);
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

  CellPlan with_reference(const PlannedCell& cell) const {
    CellPlan plan = cell.plan;
    plan.reference_launch = reference_of(cell);
    plan.reference_request = plan_.references[cell.reference].request;
    return plan;
  }

  /// How the case's reference ended, which has been run.
  const LaunchFinding& reference_of(const PlannedCell& cell) const { return *references_.findings()[cell.reference]; }

  void keep(const CellVerdict& verdict) const {
    keep_verdict(folder_, planned(verdict.id).plan, verdict, services_.version);
  }

  /// For our own trainers, whose exit code distinguishes failures of the machine.
  void note_machine(const PlannedCell& cell, const LaunchFinding& ended) {
    if (!cell.command && ended.exit_code == static_cast<int>(ExitCode::harness_failure))
      without_machine_.push_back(cell.plan.id + ": " + ended.words);
  }

  void run_failures_again() {
    bool hinted = false;
    for (auto& verdict : cells_) {
      if (verdict.holds || verdict.incomplete() || verdict.second_run) continue;
      const PlannedCell& cell = planned(verdict.id);
      second_runs_.run(cell, reference_of(cell), verdict);
      keep(verdict);
      const bool again = verdict.second_run->outcome == SecondRun::Outcome::fails_again;
      const bool hint = !hinted && verdict.second_run->words.ends_with(level_hint);
      hinted = hinted || hint;
      progress_.line(fmt::format("{} second run: {}", verdict.id,
                                 again                ? "fails again" + (hint ? level_hint : std::string())
                                 : verdict.unstable() ? "UNSTABLE\n  " + verdict.second_run->words
                                                      : "not done\n  " + verdict.second_run->words));
    }
  }

  /// Executes a case's runs, in any thread; returns its plan with their findings. Keeps whole runs, unless a failing
  /// case is to be repeated.
  CellPlan run_cell(const PlannedCell& planned, const SweepTrainers& trainers) {
    PlannedCell cell = planned;
    CellPlan& plan = cell.plan;
    if (file_.calibrated) start_from_calibration(cell, folder_.calibration(plan.reference));
    const auto whole = [&](const std::string& launch) { return folder_.whole_launch(launch, cell.inputs); };
    const bool anew = options_.again && kept_verdict(folder_, plan, services_.version);
    plan.launch = anew ? std::nullopt : whole(plan.id);
    if (!plan.launch) {
      folder_.forget_cell(plan.id);
      plan.launch = trainers.run(cell, plan.id, folder_.cell(plan.id));
    }
    if (plan.repeat && plan.launch->exit_code == 0) {
      const std::string repeat = "repeat-" + plan.id;
      plan.repeat_launch = whole(repeat);
      if (!plan.repeat_launch) plan.repeat_launch = trainers.run(cell, repeat, folder_.repeat(plan.id));
    }
    return with_reference(cell);
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
    cells_.push_back(cell);
    if (needs_replay(cell)) {  // it has no verdict yet
      progress_.say(cell.id,
                    fmt::format("compared up to the update of step {}; the reference will run again with its norms",
                                *first_update_not_compared(cell)),
                    cell.seconds);
    } else {
      keep(cell);
      progress_.say(cell.id, progress_words(cell), cell.seconds);
      if (options_.fail_fast && !cell.holds) stopped_by_ = "--fail-fast: " + cell.id + " does not hold";
    }
    judge_next();
  }

  void settle_all() {
    judge_next();
    while (judging_.valid()) settle();
  }

  /// For a sweep that ends with an error: judges all runs that have ended; the first error is reported.
  void settle_what_ended() {
    while (judging_.valid() || !to_judge_.empty()) {
      try {
        settle_all();
      } catch (const Error&) {
      }
    }
  }

  Verdict finish() {
    const Verdict verdict =
        sweep_verdict(kept_, {references_.findings(), cells_, not_run_, "the sweep ended before: " + stopped_by_},
                      folder_, services_.judge_reference, options_.harness);
    write_verdict(folder_.path() / "verdict.json", verdict);
    services_.write_reports(folder_.path());
    if (!options_.out) point_latest_to(folder_.path());
    if ((stopped_by_.empty() || options_.fail_fast) && options_.keep_failures) {
      for (const auto& cell : cells_)
        if (cell.holds && !cell.second_run) folder_.remove_records(cell.id);
    }
    return verdict;
  }

  const SweepFile& file_;
  const SweepPlan& plan_;
  KeptSweep kept_;
  const SweepOptions& options_;
  const SweepServices& services_;
  StopSignals signals_;  // must precede the start of threads
  SweepFolder folder_;
  SweepWork work_;
  SweepProgress progress_;
  SweepTrainers trainers_;
  SweepReferences references_;
  SecondRuns second_runs_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::vector<CellVerdict> cells_;
  std::map<std::string, std::string> not_run_;
  std::vector<std::string> without_machine_;  ///< cases that failed because of the machine, with the reason
  std::string stopped_by_;
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
