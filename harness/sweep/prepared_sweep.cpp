#include "harness/sweep/prepared_sweep.hpp"

#include "harness/launch/launcher.hpp"
#include "harness/sweep/make_request.hpp"
#include "harness/sweep/run_variant.hpp"
#include "harness/sweep/sweep_commands.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_trainers.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// Everything that decides what the results are: a sweep is gone on with only where all of it is as it was.
std::string fingerprint(const SweepFile& sweep, const SweepPlan& plan, const fs::path& trainers) {
  Hasher hasher;
  const auto add = [&](const std::string& text) { hasher.update(text + "\n"); };
  for (const char* program : {reference_program, pipeline_program}) add(hash_hex(read_file(trainers / program)));
  add(sweep.launcher);
  if (sweep.device != "cpu") add(sweep.device);
  if (sweep.calibrated) add(sweep.mixed_gpus ? "calibrated, mixed" : "calibrated");
  for (const auto& reference : plan.references) {
    const RunFacts facts = read_run_facts(reference.run, reference.changes);
    std::error_code missing;
    add(reference.id + reference_run(reference.run, reference.changes, "/") + reference.accumulation);
    add(fs::exists(facts.config, missing) ? read_file(facts.config) : "");
  }
  for (const auto& cell : plan.cells) {
    const CellPlan& asked = cell.plan;
    add(asked.id + pipeline_run(cell.run, cell.changes, cell.schedule, "/") + asked.schedule_csv);
    add(join(asked.checks, ",") + (asked.clipping_must_act ? " clipping" : "") + (asked.repeat ? " repeat" : "") +
        (asked.bench ? " bench" : ""));
    add(asked.process_memory_limit ? std::to_string(*asked.process_memory_limit) : "");
  }
  return hasher.hex();
}

}  // namespace

PreparedSweep prepare_sweep(const SweepOptions& options) {
  if (options.resume && !options.out) {
    throw InputError("--resume: needs --out DIR, the folder of the sweep to go on with");
  }
  PreparedSweep sweep;
  sweep.file = read_sweep_file(options.sweep_file);
  sweep.plan = make_plan(sweep.file);
  sweep.of_cells = std::ssize(sweep.plan.cells);
  if (!options.cells.empty()) sweep.plan = select_cells(sweep.plan, options.cells);
  for (auto& cell : sweep.plan.cells) cell.plan.command = command_of_cell(options, cell.plan.id);
  // What a run is asked for is made from its run file, its model and its data's files.
  for (const auto& reference : sweep.plan.references) make_request(sweep.file, reference);
  for (const auto& cell : sweep.plan.cells) make_request(sweep.file, cell);
  find_program(launcher_words(sweep.file.launcher, 1).front());
  for (const char* program : {reference_program, pipeline_program}) find_program((options.trainers / program).string());
  sweep.folder = options.out.value_or(new_run_folder(sweep.file.name));
  sweep.fingerprint = fingerprint(sweep.file, sweep.plan, options.trainers);
  SweepFolder::refuse_unless_usable(sweep.folder, sweep.fingerprint, options.resume);
  return sweep;
}

}  // namespace plumbline
