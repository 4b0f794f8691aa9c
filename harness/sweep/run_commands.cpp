// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/run_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "harness/launch/launcher.hpp"
#include "harness/sweep/run_variant.hpp"
#include "support/files.hpp"
#include "support/shell.hpp"
#include "support/text.hpp"
#include "support/visible_gpus.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// Assigns the slots' GPUs among the visible ones; prepare_sweep has checked their number.
void take_gpus(const std::vector<std::int64_t>& slots, std::map<std::string, std::string>& environment) {
  if (slots.empty() || environment.contains(visible_gpus_variable)) return;
  const auto visible = visible_gpus();
  std::vector<std::string> taken;
  for (const std::int64_t slot : slots)
    taken.push_back(visible ? visible->at(static_cast<std::size_t>(slot)) : std::to_string(slot));
  environment[visible_gpus_variable] = join(taken, ",");
}

void set_level(RunChanges& changes, std::optional<PlannedCommand>& command, std::optional<Request>& request,
               const std::string& level) {
  changes.level = level;
  if (command) command->values["level"] = level;
  if (request) request->level = level;
}

/// As a command line for a shell.
std::string command_text(const Launch& launch) {
  std::vector<std::string> words;
  if (!launch.environment.empty()) words.emplace_back("env");
  for (const auto& [variable, value] : launch.environment) words.push_back(variable + "=" + value);
  words.insert(words.end(), launch.command.begin(), launch.command.end());
  if (launch.working_folder.empty()) return shell_command(words) + "\n";
  return fmt::format("cd {} && {}\n", shell_word(launch.working_folder.string()), shell_command(words));
}

}  // namespace

std::string trainers_help() {
  return fmt::format("Folder of {} and {} (default: this program's folder)", reference_program, pipeline_program);
}

std::vector<std::string> launcher_words(const std::string& launcher, std::int64_t world) {
  std::istringstream in(launcher);
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    for (std::size_t at = 0; (at = word.find("{world}", at)) != std::string::npos;) {
      word.replace(at, 7, std::to_string(world));
    }
    words.push_back(word);
  }
  return words;
}

PlannedCommand RunCommands::built_in(const char* trainer, const std::string& run, std::int64_t ranks) const {
  PlannedCommand command;
  command.words = {"{trainer}", "{run}", "--record", "{record}"};
  if (file_.device != "cpu") command.words.insert(command.words.end(), {"--device", "{device}"});
  command.values = {
      {"trainer", (programs_ / trainer).string()}, {"world", std::to_string(ranks)}, {"device", file_.device}};
  command.ranks = ranks;
  command.trainer = trainer;
  command.files = {{"run.toml", run}};
  return command;
}

PlannedCommand RunCommands::reference(const std::string& run) const {
  return built_in(reference_program, run, 1);
}

PlannedCommand RunCommands::pipeline(const std::string& run, std::int64_t ranks) const {
  PlannedCommand command = built_in(pipeline_program, run, ranks);
  command.words.insert(command.words.begin(), launcher_word);
  if (file_.mixed_gpus) command.words.insert(command.words.begin() + 2, "--mixed-gpus");
  return command;
}

PlannedCommand RunCommands::of(const PlannedReference& planned, const fs::path& place) const {
  if (planned.command) return *planned.command;
  PlannedCommand command = reference(reference_run(planned.run, planned.changes, place));
  if (!planned.accumulation.empty()) {
    command.files["accumulation.csv"] = planned.accumulation;
    command.words.insert(command.words.end(), {"--accumulation", "{accumulation}"});
  }
  if (!planned.splits_backward) command.words.emplace_back(without_split_backward);
  return command;
}

PlannedCommand RunCommands::of(const PlannedCell& planned, const fs::path& place) const {
  if (planned.command) return *planned.command;
  RunChanges changes = planned.changes;
  if (file_.calibrated) changes.level = "dump";
  return pipeline(pipeline_run(planned.run, changes, planned.schedule, place), planned.plan.world);
}

PlannedCommand RunCommands::first_segment_of(const PlannedCell& planned, const fs::path& place) const {
  const PlannedStart& begin = *planned.resumes_from;
  RunChanges changes = planned.changes;
  if (changes.level == "dump") changes.level.clear();  // it is not judged
  if (begin.schedule == by_the_reference) return reference(reference_run(planned.run, changes, place));
  return pipeline(pipeline_run(planned.run, changes, begin.schedule, place), begin.world);
}

Launch RunCommands::launch(PlannedCommand command, const fs::path& place, const fs::path& record,
                           const std::vector<std::int64_t>& slots) const {
  for (const auto& [name, text] : command.files) {
    write_file(place / name, text);
    command.values[fs::path(name).stem().string()] = (place / name).string();
  }
  LaunchPlace decided;
  decided.record = command.folder.empty() ? record.string() : fs::absolute(record).lexically_normal().string();
  decided.port = uses_placeholder(command, "port") ? free_port() : 0;
  decided.launcher = launcher_words(file_.launcher, command.ranks);
  const StartedCommand started = started_command(command, decided);
  Launch launch;
  launch.command = started.words;
  launch.environment = started.environment;
  launch.working_folder = command.folder;
  launch.folder = place;
  launch.record = record;
  launch.ranks = command.ranks;
  launch.speaker = command.trainer;
  if (command.trainer == pipeline_program) launch.program = command.values.at("trainer");
  if (trains_on_gpus(command)) take_gpus(slots, launch.environment);
  write_file(place / "command.txt", command_text(launch));
  return launch;
}

PlannedReference at_level(PlannedReference reference, const std::string& level) {
  set_level(reference.changes, reference.command, reference.request, level);
  return reference;
}

PlannedCell at_level(PlannedCell cell, const std::string& level) {
  set_level(cell.changes, cell.command, cell.plan.request, level);
  return cell;
}

PlannedReference replaying(PlannedReference reference, const fs::path& record) {
  reference.command->values[norms_placeholder] = fs::absolute(record).lexically_normal().string();
  return reference;
}

PlannedCommand question_of(PlannedCommand command) {
  std::erase(command.words, launcher_word);
  std::erase(command.words, without_split_backward);
  const auto record = std::ranges::find(command.words, "--record");
  record[0] = "--check";
  record[1] = "--json";
  if (command.trainer == pipeline_program) command.words.insert(record + 2, {"--ranks", "{world}"});
  return command;
}

std::string with_original(std::string words, const fs::path& copy, const fs::path& original) {
  const std::string name = copy.string();
  if (const auto at = words.find(name); at != std::string::npos) {
    const auto end = words.find_first_not_of("0123456789:", at + name.size());
    const bool key_follows = end != std::string::npos && words[end] == ',';
    words.replace(at, end == std::string::npos ? end : end - at, original.string() + (key_follows ? "" : ":"));
  } else {
    words = original.string() + ": " + words;
  }
  return words;
}

}  // namespace plumbline
