// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/prepared_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "harness/launch/launcher.hpp"
#include "support/visible_gpus.hpp"
#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/names.hpp"
#include "harness/sweep/run_commands.hpp"
#include "harness/sweep/run_facts.hpp"
#include "harness/sweep/sweep_commands.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "support/error.hpp"
#include "support/paths.hpp"
#include "support/text.hpp"

namespace plumbline {

namespace {

/// The cases selected now and those already in the folder: a resumed sweep can grow.
std::vector<std::string> wanted_cells(const SweepOptions& options, const PreparedSweep& sweep) {
  std::vector<std::string> wanted = options.cells;
  if (!options.resume || !path_exists(*options.out / "sweep.json")) return wanted;
  for (const auto& kept : read_kept_sweep(*options.out / "sweep.json").cells) {
    const bool still = std::ranges::any_of(sweep.plan.cells, [&](const auto& cell) { return cell.plan.id == kept.id; });
    if (still) wanted.push_back(kept.id);
  }
  return wanted;
}

/// True if a run uses the GPUs of its slots; one whose environment names GPUs does not.
bool takes_gpus_of_slots(const PreparedSweep& sweep) {
  const auto takes = [](const auto& planned) {
    return planned.command && trains_on_gpus(*planned.command) &&
           !planned.command->environment.contains(visible_gpus_variable);
  };
  return sweep.file.device == "cuda" || std::ranges::any_of(sweep.plan.references, takes) ||
         std::ranges::any_of(sweep.plan.cells, takes);
}

/// With parallel jobs every slot is a GPU.
void check_gpus(const PreparedSweep& sweep, std::int64_t jobs) {
  if (!takes_gpus_of_slots(sweep)) return;
  const auto visible = visible_gpus();
  if (!visible) return;
  if (visible->empty()) {
    throw SystemError(
        fmt::format("{} is \"{}\": this sweep trains on GPUs, and this names none; unset the variable, name "
                    "GPUs in it (0,1), or ask the scheduler for some",
                    visible_gpus_variable, std::getenv(visible_gpus_variable)));
  }
  if (jobs <= 1 || jobs <= std::ssize(*visible)) return;
  throw SystemError(fmt::format(
      "--jobs {}: this process may use {} {} ({}), and parallel jobs take one GPU a rank; give "
      "at most that many, or set {}",
      jobs, visible->size(), visible->size() == 1 ? "GPU" : "GPUs", join(*visible, ","), visible_gpus_variable));
}

}  // namespace

PreparedSweep prepare_sweep(const SweepOptions& options) {
  if (options.resume && !options.out) {
    throw InputError("--resume: needs --out DIR, the folder of the sweep to continue");
  }
  PreparedSweep sweep;
  sweep.file = read_sweep_file(options.sweep_file);
  sweep.plan = make_plan(sweep.file);
  for (const auto& cell : sweep.plan.cells) sweep.all_cells.push_back(cell.plan.id);
  if (options.shard) sweep.plan = select_shard(sweep.plan, *options.shard);
  if (!options.cells.empty()) sweep.plan = select_cells(sweep.plan, wanted_cells(options, sweep));
  // A run's request derives from its run file, its model and its data files.
  for (auto& reference : sweep.plan.references) reference.request = make_request(sweep.file, reference);
  for (auto& cell : sweep.plan.cells) {
    cell.plan.command = command_of_cell(options, cell.plan.id);
    cell.plan.request = make_request(sweep.file, cell);
  }
  if (!sweep.file.launcher.empty()) find_program(launcher_words(sweep.file.launcher, 1).front());
  if (!sweep.file.commands) {
    for (const char* program : {reference_program, pipeline_program})
      find_program((options.trainers / program).string());
  }
  check_gpus(sweep, options.jobs);
  sweep.folder = options.out.value_or(new_run_folder(part_of_id(sweep.file.name)));
  sweep.fingerprint = fingerprint_of(sweep.file, sweep.plan, options.trainers, options.judge, sweep.inputs);
  SweepFolder::refuse_unless_usable(sweep.folder, sweep.fingerprint, options.resume);
  return sweep;
}

}  // namespace plumbline
