// SPDX-License-Identifier: BSD-3-Clause
#include "harness/bench/run_bench.hpp"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "harness/bench/summarise_bench.hpp"
#include "harness/launch/last_error_line.hpp"
#include "harness/launch/launcher.hpp"
#include "harness/launch/stop_signals.hpp"
#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/prepared_sweep.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_plan.hpp"
#include "harness/sweep/sweep_progress.hpp"
#include "harness/sweep/sweep_trainers.hpp"
#include "harness/sweep/sweep_verdict.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// The cases of a sweep that compares bits with Plumbline's trainers.
PreparedSweep prepare_bench(SweepOptions options) {
  if (!options.out) options.out = new_run_folder(options.sweep_file.stem().string() + "-bench");
  PreparedSweep prepared = prepare_sweep(options);
  if (prepared.file.commands)
    throw InputError(options.sweep_file.string() +
                     ": starts commands of your own, but a bench times Plumbline's trainers");
  if (prepared.file.calibrated)
    throw InputError(options.sweep_file.string() +
                     ", key tier: a bench compares no values; remove the key, in a separate sweep file");
  return prepared;
}

/// Records times and bytes, no tensors.
SweepPlan at_level_summary(SweepPlan plan) {
  for (PlannedReference& reference : plan.references) reference = at_level(reference, "summary");
  for (PlannedCell& cell : plan.cells) cell = at_level(cell, "summary");
  return plan;
}

class Bench {
 public:
  Bench(const PreparedSweep& prepared, const BenchOptions& options, std::FILE* log)
      : options_(options),
        file_(prepared.file),
        folder_(prepared.folder, file_.name, to_json(kept_sweep(file_, prepared.plan, prepared.all_cells)), false),
        plan_(at_level_summary(prepared.plan)),
        runs_(static_cast<std::size_t>(options.rounds) * turns()),
        progress_(log, runs_, static_cast<double>(runs_)),
        trainers_(file_, prepared.inputs, options.sweep.trainers, folder_, signals_, [this] { progress_.tick(); }),
        references_(plan_.references.size()),
        cells_(plan_.cells.size()),
        failed_(plan_.cells.size()) {}

  BenchResult run() {
    for (std::int64_t round = 0; round < options_.rounds; ++round) {
      for (std::size_t turn = 0; turn < turns(); ++turn) take_turn((turn + static_cast<std::size_t>(round)) % turns());
      progress_.line(fmt::format("round {} of {} is done", round + 1, options_.rounds));
    }
    return summary();
  }

 private:
  /// Each reference, each case, then each reference again.
  std::size_t turns() const { return 2 * plan_.references.size() + plan_.cells.size(); }

  void take_turn(std::size_t turn) {
    const std::size_t references = plan_.references.size(), cells = plan_.cells.size();
    if (turn < references)
      references_[turn].first.push_back(run_reference(turn, ""));
    else if (turn < references + cells)
      run_cell(turn - references);
    else
      references_[turn - references - cells].second.push_back(run_reference(turn - references - cells, "-second"));
  }

  void check_stop(const std::string& before) {
    if (signals_.asked()) throw SystemError(std::string("stopped by ") + signals_.name() + " before " + before);
  }

  BenchRound run_reference(std::size_t index, const std::string& which) {
    const PlannedReference& reference = plan_.references[index];
    const std::string id = "reference-" + reference.id + which;
    const fs::path record = folder_.reference(reference.id + which);
    check_stop(id);
    progress_.begin(id, 1);
    const LaunchFinding finding = trainers_.run(reference, id, record);
    progress_.end();
    if (finding.exit_code != 0 || finding.timed_out) {
      const std::string said = last_error_line(folder_.launch(id) / "stderr.txt", reference_program);
      const std::string words = fmt::format("{} failed: {}", id, said.empty() ? finding.words : said);
      if (finding.exit_code == static_cast<int>(ExitCode::bad_input)) throw InputError(words);
      throw RunError(words);
    }
    return measure_round(record);
  }

  void run_cell(std::size_t index) {
    const PlannedCell& cell = plan_.cells[index];
    if (!failed_[index].empty()) return progress_.skip(1);
    check_stop(cell.plan.id);
    progress_.begin(cell.plan.id, 1);
    const LaunchFinding finding = trainers_.run(cell, cell.plan.id, folder_.cell(cell.plan.id));
    progress_.end();
    if (finding.exit_code != 0 || finding.timed_out) {
      failed_[index] = cell.plan.id + ": " + finding.words;
      return progress_.line(failed_[index]);
    }
    cells_[index].push_back(measure_round(folder_.cell(cell.plan.id)));
  }

  BenchResult summary() const {
    BenchResult result;
    result.name = file_.name;
    result.started = folder_.started();
    result.rounds = options_.rounds;
    result.quiet_limit = options_.quiet_limit;
    result.coverage = order_statistics_of_median(static_cast<std::size_t>(options_.rounds)).coverage;
    const fs::path record = folder_.reference(plan_.references.front().id);
    result.machine = machine_of(record);
    const Json machine = result.machine.value("machine", Json::object());
    if (!machine.is_object() || !machine.contains("cores") || !machine["cores"].is_number_integer())
      throw InputError(record.string() +
                       "/manifest.json: lacks the number of cores (machine.cores), without which no efficiency can be "
                       "computed");
    result.cores = machine["cores"].get<std::int64_t>();
    result.steps = std::ssize(references_.front().first.front().steps_ms);
    for (std::size_t i = 0; i < references_.size(); ++i) {
      BenchReference& reference = result.references.emplace_back();
      reference.id = plan_.references[i].id;
      summarise(references_[i], reference);
    }
    result.noise = noise_of(result.references);
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (!failed_[i].empty()) {
        result.failed.push_back(failed_[i]);
        continue;
      }
      const PlannedCell& planned = plan_.cells[i];
      BenchCell& cell = result.cells.emplace_back();
      cell.id = planned.plan.id;
      cell.world = planned.plan.world;
      summarise(cells_[i], references_[planned.reference], result.cores, cell);
    }
    return result;
  }

  const BenchOptions& options_;
  const SweepFile& file_;
  StopSignals signals_;  // must precede the start of threads
  SweepFolder folder_;
  SweepPlan plan_;
  std::size_t runs_;
  SweepProgress progress_;
  SweepTrainers trainers_;
  std::vector<ReferenceRounds> references_;
  std::vector<std::vector<BenchRound>> cells_;
  std::vector<std::string> failed_;  ///< reasons by case
};

}  // namespace

FinishedBench run_bench(const BenchOptions& options, std::FILE* log) {
  if (options.rounds < 2)
    throw InputError("--rounds " + std::to_string(options.rounds) + ": an interval needs at least 2 rounds");
  const PreparedSweep prepared = prepare_bench(options.sweep);
  FinishedBench finished{prepared.folder, Bench(prepared, options, log).run()};
  write_json(finished.folder / "bench.json", google_benchmark_json(finished.result));
  write_file(finished.folder / "bench.md", bench_text(finished.result));
  return finished;
}

}  // namespace plumbline
