// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>

#include "command_line/command_line.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/doctor.hpp"
#include "harness/launch/last_error_line.hpp"
#include "harness/launch/launcher.hpp"
#include "harness/launch/scratch_folder.hpp"
#include "harness/sweep/first_sweep.hpp"
#include "harness/sweep/planned_command.hpp"
#include "harness/sweep/run_commands.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"
#include "support/terminal.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr const char* sweep_name = "sweep.toml";
constexpr std::chrono::seconds start_limit{120};

struct Given {
  std::string reference, candidate;
  std::optional<std::int64_t> ranks;
  std::optional<fs::path> text;
  fs::path trainers;
};

std::string answer_to(const std::string& question) {
  print_text(question);
  std::string line;
  std::getline(std::cin, line);
  return line;
}

/// The line by which editors complete and check keys; empty if the schemas are not installed.
std::string schema_line(const std::string& file) {
  for (const char* place : {"../share/plumbline/schemas", "../../../docs/schemas"}) {
    const fs::path schema =
        (program_folder() / place).lexically_normal() / (fs::path(file).stem().string() + ".schema.json");
    if (path_exists(schema)) return "#:schema " + schema.string() + "\n";
  }
  return "";
}

void refuse_existing(const std::string& name) {
  if (path_exists(name)) throw InputError(name + ": already exists; remove it, or use another folder");
}

void write_new(const std::string& name, const std::string& text) {
  write_file(name, (name.ends_with(".toml") ? schema_line(name) : "") + text);
}

int say_next() {
  print_text(
      fmt::format("next:\n  plumbline sweep {0} --list    # the cases, and what the sweep would refuse\n"
                  "  plumbline sweep {0}\n",
                  sweep_name));
  return static_cast<int>(ExitCode::holds);
}

struct Start {
  bool works = false;
  std::string words;   ///< how it went
  std::string output;  ///< on stderr
};

/// Starts the command until it begins a record, which is thrown away.
Start start_of(const PlannedCommand& planned, const std::string& launcher, StopSignals& signals) {
  const ScratchFolder scratch;
  const fs::path folder = scratch.path(), record = folder / "record";
  const auto port = uses_placeholder(planned, "port") ? free_port() : 0;
  const StartedCommand command =
      started_command(planned, {record.string(), port, launcher_words(launcher, planned.ranks)});
  const auto recorded = [&] {
    std::error_code none;
    return fs::exists(record / "manifest.json", none) || fs::exists(record / "replica-0" / "manifest.json", none);
  };
  Launch asked;
  asked.command = command.words;
  asked.folder = folder;
  asked.environment = command.environment;
  asked.working_folder = planned.folder;
  asked.record = record;
  asked.time_limit = start_limit;
  asked.at_glance = [&] {
    if (recorded()) asked.time_limit = {};  // that is enough
  };
  const LaunchFinding found = launch(asked, signals);
  if (found.interrupted) throw SystemError(found.words + " while the commands were tried");
  if (recorded() && (found.timed_out || found.exit_code == 0)) return {true, "starts, and records", ""};
  if (found.timed_out)
    return {true, fmt::format("starts, but has recorded nothing after {} s", start_limit.count()), ""};
  if (found.exit_code == 0)
    return {false, "ran, but wrote no record into {record} (plumbline.Record: docs/judge-your-trainer.md)", ""};
  const std::string output = read_file(folder / "stderr.txt"), words = last_error_line(folder / "stderr.txt", "");
  return {false, fmt::format("ended with exit code {}: {}", found.exit_code, words), output};
}

/// Whether an error names the option, and not only the "[--option VALUE]" of a usage line.
bool objects_to(const std::string& output, const std::string& option) {
  for (auto at = output.find(option); at != std::string::npos; at = output.find(option, at + 1))
    if (at == 0 || output[at - 1] != '[') return true;
  return false;
}

/// Writes the file and reads it as a sweep does.
SweepFile written(const FirstSweep& sweep) {
  write_new(sweep_name, text_of(sweep));
  try {
    SweepFile file = read_sweep_file(sweep_name);
    const CommandCell& cell = file.commands->cells.front();
    const auto launcher = launcher_words(file.launcher, cell.world_size);
    for (const auto& command : {planned_reference(cell, *file.commands), planned_candidate(cell, *file.commands)})
      program_of(command, launcher);
    return file;
  } catch (...) {
    fs::remove(sweep_name);
    throw;
  }
}

int write_for_commands(const Given& given) {
  FirstSweep sweep = first_sweep(shell_words(given.reference), shell_words(given.candidate), given.ranks);
  bool all_start = true;
  StopSignals signals;
  for (const bool of_candidate : {false, true}) {
    const char* name = of_candidate ? "candidate" : "reference";
    for (bool again = true; again;) {
      const SweepFile file = written(sweep);
      const CommandCell& cell = file.commands->cells.front();
      const PlannedCommand command =
          of_candidate ? planned_candidate(cell, *file.commands) : planned_reference(cell, *file.commands);
      print_text(fmt::format("{}: starting, until it records (at most {} s)\n", name, start_limit.count()));
      const Start start = start_of(command, file.launcher, signals);
      again = false;
      for (const std::string& option : optional_options) {  // does the trainer lack one that was added?
        if (start.works || !objects_to(start.output, option) || !remove_option(sweep, option)) continue;
        print_text(fmt::format("{}: takes no {}; left out\n", name, option));
        again = true;
      }
      if (again) continue;
      print_text(fmt::format("{}: {}\n", name, start.words));
      all_start = all_start && start.works;
    }
  }
  print_text(fmt::format("written: {}\n", sweep_name));
  if (all_start) return say_next();
  print_text(fmt::format("A command does not work yet: change it, or its line in {}.\n", sweep_name), stderr);
  say_next();
  return static_cast<int>(ExitCode::does_not_hold);
}

int write_for_text(const Given& given) {
  if (judge_alone(given.trainers))
    throw InputError(
        "--text is for Plumbline's trainers, which this build does not have (make build); give --reference and "
        "--candidate");
  const auto files = first_files_for_text(*given.text);
  for (const auto& [name, content] : files) refuse_existing(name);
  for (const auto& [name, content] : files) {
    write_new(name, content);
    print_text("written: " + name + "\n");
  }
  return say_next();
}

int init(Given given) {
  refuse_existing(sweep_name);
  if (given.text) return write_for_text(given);
  if (given.reference.empty() && given.candidate.empty() && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1) {
    given.reference = answer_to("The command that trains on one device (python train.py): ");
    given.candidate = answer_to("The command that trains as a pipeline (torchrun --nproc-per-node=2 train.py): ");
  }
  if (given.reference.empty() || given.candidate.empty())
    throw InputError(
        "give --reference and --candidate, the commands that train on one device and as a pipeline, or --text FILE for "
        "Plumbline's own trainers");
  return write_for_commands(given);
}

}  // namespace

std::function<int()> add_init_command(CLI::App& app, const fs::path& trainers) {
  const auto given = std::make_shared<Given>();
  given->trainers = trainers;
  auto* command = app.add_subcommand("init", "Write a first sweep file, sweep.toml, in this folder");
  auto* reference =
      command->add_option("--reference", given->reference, "Your command that trains on one device, in quotes")
          ->type_name("CMD");
  auto* candidate =
      command
          ->add_option("--candidate", given->candidate,
                       "Your command that trains as a pipeline. init inserts {record}, {level}, {norms_from}, {world}, "
                       "{port} and {schedule}, and starts each command until it records")
          ->type_name("CMD");
  reference->needs(candidate);
  candidate->needs(reference);
  command->add_option("--ranks", given->ranks, "Ranks of the pipeline, if its command does not say it")
      ->check(CLI::Range(std::int64_t{1}, largest_world))
      ->needs(candidate);
  command
      ->add_option(
          "--text", given->text,
          "For Plumbline's own trainers: train on this UTF-8 file, or folder of .txt files; also writes run.toml "
          "and config.json")
      ->type_name("FILE")
      ->excludes(reference);
  command->footer(
      help_end({"plumbline init --reference 'python train.py' --candidate 'torchrun --nproc-per-node=2 train.py'",
                "plumbline init --text book.txt"},
               {.zero = "written", .one = "written, but a command does not work yet"}));
  return [given] { return init(*given); };
}

}  // namespace plumbline
