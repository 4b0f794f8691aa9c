// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/prepared_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "harness/launch/last_error_line.hpp"
#include "harness/launch/launcher.hpp"
#include "harness/launch/scratch_folder.hpp"
#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/names.hpp"
#include "harness/sweep/parallel_jobs.hpp"
#include "harness/sweep/run_commands.hpp"
#include "harness/sweep/run_facts.hpp"
#include "harness/sweep/run_inputs.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/paths.hpp"
#include "support/text.hpp"
#include "support/visible_gpus.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

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
        fmt::format("{} is \"{}\", but this sweep trains on GPUs; unset the variable, name GPUs in it (0,1), or "
                    "request some from the scheduler",
                    visible_gpus_variable, std::getenv(visible_gpus_variable)));
  }
  if (jobs <= 1 || jobs <= std::ssize(*visible)) return;
  throw SystemError(fmt::format(
      "--jobs {}: this process may use only {} {} ({}), and parallel jobs take one GPU for each rank; give at most "
      "that many, or set {}",
      jobs, visible->size(), visible->size() == 1 ? "GPU" : "GPUs", join(*visible, ","), visible_gpus_variable));
}

struct Question {
  PlannedCommand command;
  fs::path run;  ///< the user's file
  std::vector<std::string> ids;
};

/// Equal runs are checked once. The texts of run files are for a folder next to `place`.
std::vector<Question> questions_of(const SweepPlan& plan, const RunCommands& commands, const fs::path& place) {
  std::vector<Question> all;
  const auto add = [&](const PlannedCommand& command, const fs::path& run, const std::string& id) {
    const PlannedCommand requested = question_of(command);
    const auto same = std::ranges::find_if(all, [&](const Question& each) {
      const PlannedCommand& known = each.command;
      return known.words == requested.words && known.values == requested.values && known.files == requested.files;
    });
    if (same == all.end()) {
      all.push_back({requested, run, {id}});
    } else if (std::ranges::find(same->ids, id) == same->ids.end()) {
      same->ids.push_back(id);
    }
  };
  for (const auto& reference : plan.references)
    add(commands.of(reference, place), reference.run, "reference-" + reference.id);
  for (const auto& cell : plan.cells) {
    if (cell.resumes_from) add(commands.first_segment_of(cell, place), cell.run, cell.plan.id);
    add(commands.of(cell, place), cell.run, cell.plan.id);
  }
  return all;
}

/// The trainer's answer, or its message and exit code.
std::optional<RefusedRun> refusal(const Question& question, const fs::path& folder, const LaunchFinding& finding) {
  RefusedRun refused;
  refused.ids = question.ids;
  try {
    const Json answer = read_json(folder / "stdout.txt");
    refused.exit_code = answer.at("exit_code").get<int>();
    if (refused.exit_code == 0) return std::nullopt;
    refused.words = answer.at("message").get<std::string>();
  } catch (const std::exception&) {
    if (finding.timed_out)
      throw SystemError(question.command.trainer + " --check: did not answer for " + question.run.string());
    refused.exit_code = finding.exit_code;
    if (refused.exit_code == 0) return std::nullopt;
    refused.words = last_error_line(folder / "stderr.txt", question.command.trainer);
  }
  refused.words = with_original(refused.words, folder / "run.toml", question.run);
  return refused;
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
  set_inputs(sweep.file, sweep.plan, options.trainers, sweep.inputs);
  SweepFolder::refuse_unless_usable(sweep.folder, options.resume);
  return sweep;
}

Preflight ask_trainers(const PreparedSweep& sweep, const fs::path& trainers, std::int64_t at_once) {
  Preflight preflight;
  if (sweep.file.commands) return preflight;
  StopSignals signals;  // must precede the start of threads
  const ScratchFolder scratch;
  const fs::path place = scratch.path();
  const RunCommands commands(sweep.file, trainers);
  const std::vector<Question> questions = questions_of(sweep.plan, commands, place / "run");
  std::vector<std::optional<RefusedRun>> answers(questions.size());
  std::vector<SlottedRun> runs;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto ask = [&, i](const std::vector<std::int64_t>&) {
      const Question& question = questions[i];
      const fs::path folder = place / std::to_string(i);
      make_folder(folder);
      Launch launch = commands.launch(question.command, folder, {});
      launch.ranks = 0;
      launch.program.clear();
      const LaunchFinding finding = plumbline::launch(launch, signals);
      if (finding.interrupted) throw SystemError(finding.words + " while the trainers checked the runs");
      answers[i] = refusal(question, folder, finding);
    };
    runs.push_back({1, [] {}, ask, [] {}});
  }
  run_parallel_jobs(runs, at_once, [] {});
  preflight.requested = questions.size();
  for (auto& answer : answers) {
    if (answer) preflight.refused.push_back(std::move(*answer));
  }
  return preflight;
}

}  // namespace plumbline
