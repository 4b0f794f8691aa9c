// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_trainers.hpp"

#include <chrono>
#include <cstdio>
#include <exception>
#include <utility>

#include "harness/launch/free_port.hpp"
#include "support/visible_gpus.hpp"
#include "harness/sweep/localise.hpp"
#include "harness/sweep/make_request.hpp"
#include "harness/sweep/run_variant.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/shell.hpp"
#include "support/text.hpp"

namespace plumbline {

namespace fs = std::filesystem;

namespace {

constexpr const char* run_file = "run.toml";
constexpr const char* accumulation_file = "accumulation.csv";

/// Assigns the slots' GPUs among the visible ones; prepare_sweep has checked their number.
void take_gpus(const std::vector<std::int64_t>& slots, std::map<std::string, std::string>& environment) {
  if (slots.empty() || environment.contains(visible_gpus_variable)) return;
  const auto visible = visible_gpus();
  std::vector<std::string> taken;
  for (const std::int64_t slot : slots)
    taken.push_back(visible ? visible->at(static_cast<std::size_t>(slot)) : std::to_string(slot));
  environment[visible_gpus_variable] = join(taken, ",");
}

/// As a command line for a shell.
std::string command_text(const Launch& launch) {
  std::vector<std::string> words;
  if (!launch.environment.empty()) words.emplace_back("env");
  for (const auto& [variable, value] : launch.environment) words.push_back(variable + "=" + value);
  words.insert(words.end(), launch.command.begin(), launch.command.end());
  return "cd " + shell_word(launch.working_folder.string()) + " && " + shell_command(words) + "\n";
}

}  // namespace

SweepTrainers::SweepTrainers(const SweepFile& file, const SweepInputs& inputs, const fs::path& programs,
                             const SweepFolder& folder, StopSignals& signals, std::function<void()> at_glance)
    : file_(file),
      inputs_(inputs),
      programs_(programs),
      folder_(folder),
      signals_(signals),
      at_glance_(std::move(at_glance)) {}

SweepTrainers SweepTrainers::on(std::vector<std::int64_t> slots) const {
  SweepTrainers same = *this;
  same.slots_ = std::move(slots);
  return same;
}

LaunchFinding SweepTrainers::run(const PlannedReference& reference, const std::string& id, const fs::path& record,
                                 std::optional<std::int64_t> dump) const {
  const Request request = request_of(reference, dump.has_value());
  if (reference.command) return run_command(*reference.command, id, record, request, dump.has_value());
  const std::string text = reference_run(reference.run, reference.changes, folder_.launch(id));
  Files files{{run_file, dump ? at_level_dump(text) : text}};
  if (!reference.accumulation.empty()) files[accumulation_file] = reference.accumulation;
  std::vector<std::string> options;
  if (!reference.splits_backward) options.emplace_back(without_split_backward);
  if (dump && *dump >= 0) options.insert(options.end(), {"--dump-microbatches", std::to_string(*dump)});
  return start(id, record, {(programs_ / reference_program).string()}, reference_program, 1, files, request, options);
}

LaunchFinding SweepTrainers::run(const PlannedCell& cell, const std::string& id, const fs::path& record, bool dump,
                                 const std::optional<fs::path>& start_weights) const {
  if (cell.command) return run_command(*cell.command, id, record, request_of(cell, dump), dump);
  std::string text = pipeline_run(cell.run, cell.changes, cell.schedule, folder_.launch(id));
  if (start_weights) text = starting_from(text, *start_weights, folder_.launch(id));
  const Files files{{run_file, dump ? at_level_dump(text) : text}};
  const Request request = request_of(cell, dump || start_weights);
  const auto go = [&](const std::vector<std::string>& options) {
    return start(id, record, pipeline_command(cell.plan.world), pipeline_program, cell.plan.world, files, request,
                 options);
  };
  if (!cell.goes_on_with) return go({});
  const std::string begun = "begun-" + id;
  LaunchFinding first = run_first_segment(*cell.goes_on_with, cell, begun);
  if (first.exit_code != 0 || first.timed_out) return resume_not_run(std::move(first), id, record);
  const fs::path checkpoint = first_segment_checkpoint(*cell.goes_on_with, begun);
  const LaunchFinding finding = go({"--resume", checkpoint.string()});
  std::error_code ignored;
  if (finding.exit_code == 0) fs::remove_all(checkpoint.parent_path(), ignored);
  return finding;
}

fs::path SweepTrainers::first_segment_checkpoint(const PlannedStart& begin, const std::string& id) const {
  char name[32];
  std::snprintf(name, sizeof name, "step-%08lld", static_cast<long long>(begin.steps));
  return folder_.launch(id) / "checkpoints" / name;
}

/// Trains until the stop, and saves a checkpoint.
LaunchFinding SweepTrainers::run_first_segment(const PlannedStart& begin, const PlannedCell& cell,
                                               const std::string& id) const {
  const fs::path place = folder_.launch(id);
  const std::vector<std::string> options = {"--checkpoint", first_segment_checkpoint(begin, id).parent_path().string(),
                                            "--stop-after", std::to_string(begin.steps)};
  if (begin.schedule == by_the_reference) {
    const Files files{{run_file, reference_run(cell.run, cell.changes, place)}};
    return start(id, place / "record", {(programs_ / reference_program).string()}, reference_program, 1, files,
                 std::nullopt, options);
  }
  const Files files{{run_file, pipeline_run(cell.run, cell.changes, begin.schedule, place)}};
  return start(id, place / "record", pipeline_command(begin.world), pipeline_program, begin.world, files, std::nullopt,
               options);
}

/// A finding in place of the case's own launch, which did not start.
LaunchFinding SweepTrainers::resume_not_run(LaunchFinding first, const std::string& id, const fs::path& record) const {
  folder_.make_way(record, folder_.launch(id));
  first.words = "the first segment of the run failed: " + first.words;
  first.started = false;  // refers to the judged run
  first.culprit_rank.reset();
  write_json(folder_.launch(id) / "finding.json", to_json(first));
  return first;
}

std::vector<std::string> SweepTrainers::pipeline_command(std::int64_t world) const {
  auto command = launcher_words(file_.launcher, world);
  command.push_back((programs_ / pipeline_program).string());
  if (file_.mixed_gpus) command.push_back("--mixed-gpus");
  return command;
}

Request SweepTrainers::request_of(const PlannedReference& reference, bool dump) const {
  return make_request(file_, reference, dump || file_.calibrated ? "dump" : "");
}

Request SweepTrainers::request_of(const PlannedCell& cell, bool dump) const {
  return make_request(file_, cell, dump || file_.calibrated ? "dump" : "");
}

/// A trainer's exit code concerns only its own case; a full disk stops the sweep.
void SweepTrainers::refuse_full_disk(const std::string& id) const {
  constexpr std::uintmax_t least_bytes = 1 << 20;
  std::error_code unknown;
  const auto space = fs::space(folder_.path(), unknown);
  if (unknown || space.available >= least_bytes) return;
  throw SystemError(id + " failed, and " + folder_.path().string() + " has only " + std::to_string(space.available) +
                    " bytes left: the disk is full");
}

LaunchFinding SweepTrainers::start(const std::string& id, const fs::path& record, std::vector<std::string> command,
                                   const std::string& speaker, std::int64_t ranks, const Files& files,
                                   const std::optional<Request>& request,
                                   const std::vector<std::string>& options) const {
  const fs::path place = folder_.launch(id);
  folder_.make_way(record, place);
  if (request) write_json(place / request_name, to_json(*request));
  for (const auto& [name, text] : files) write_file(place / name, text);
  command.insert(command.end(), {(place / run_file).string(), "--record", record.string()});
  if (file_.device != "cpu") command.insert(command.end(), {"--device", file_.device});
  if (files.contains(accumulation_file)) {
    command.insert(command.end(), {"--accumulation", (place / accumulation_file).string()});
  }
  command.insert(command.end(), options.begin(), options.end());
  write_file(place / "command.txt", shell_command(command) + "\n");
  Launch launch;
  launch.command = std::move(command);
  launch.folder = place;
  launch.record = record;
  launch.ranks = ranks;
  launch.speaker = speaker;
  if (file_.device == "cuda") take_gpus(slots_, launch.environment);
  if (speaker == pipeline_program) launch.program = (programs_ / pipeline_program).string();
  return end_of(std::move(launch), id);
}

/// Users' trainers get the output path only by their command line.
LaunchFinding SweepTrainers::run_command(const PlannedCommand& command, const std::string& id, const fs::path& record,
                                         const Request& request, bool dump) const {
  const fs::path place = folder_.launch(id);
  folder_.make_way(record, place);
  write_json(place / request_name, to_json(request));
  PlannedCommand planned = command;
  if (dump) planned.values["level"] = "dump";
  LaunchPlace decided;
  decided.record = fs::absolute(record).lexically_normal().string();
  decided.port = uses_placeholder(command, "port") ? free_port() : 0;
  decided.launcher = launcher_words(file_.launcher, command.ranks);
  const StartedCommand started = started_command(planned, decided);
  Launch launch;
  launch.command = started.words;
  launch.environment = started.environment;
  launch.working_folder = command.folder;
  launch.folder = place;
  launch.record = record;
  launch.ranks = command.ranks;
  if (trains_on_gpus(planned)) take_gpus(slots_, launch.environment);
  write_file(place / "command.txt", command_text(launch));
  return end_of(std::move(launch), id);
}

LaunchFinding SweepTrainers::end_of(Launch launch, const std::string& id) const {
  launch.time_limit = std::chrono::milliseconds(static_cast<std::int64_t>(file_.time_limit_s * 1000));
  std::exception_ptr failure;  // rethrown when the run has ended, so that no launch is abandoned
  launch.at_glance = [&] {
    try {
      if (!failure) at_glance_();
    } catch (...) {
      failure = std::current_exception();
    }
  };
  const LaunchFinding finding = plumbline::launch(launch, signals_);
  if (failure) std::rethrow_exception(failure);
  inputs_.require_unchanged();
  write_json(launch.folder / "finding.json", to_json(finding));
  if (finding.interrupted) throw SystemError(finding.words + " while " + id + " ran");
  if (finding.exit_code != 0) refuse_full_disk(id);
  return finding;
}

}  // namespace plumbline
