// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "harness/launch/default_launcher.hpp"
#include "harness/sweep/names.hpp"
#include "harness/sweep/read_user_commands.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "harness/sweep/sweep_keys.hpp"
#include "schedule/runnable.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_words.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/toml.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// Refuses equal values. Files and schedules have several spellings, so give their resolved names.
template <typename Value>
void need_distinct(const TomlTable& table, const std::string& key, std::vector<Value> values) {
  std::ranges::sort(values);
  if (std::ranges::adjacent_find(values) != values.end())
    refuse_key(table, key, "has the same value twice; remove one");
}

/// A file's path from here.
fs::path file_in(const TomlTable& table, const std::string& key, const fs::path& folder, const std::string& text,
                 const char* what) {
  const fs::path path = (folder / text).lexically_normal();
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return path;
  refuse_key(table, key,
             fmt::format("no such {} file: {}; paths are relative to the sweep file's folder", what, path.string()));
}

/// A schedule's canonical name, or a schedule file's path from here. Throws InputError for an unknown name and a
/// missing file.
std::string schedule_in(const TomlTable& table, const std::string& key, const std::string& text,
                        const fs::path& folder) {
  if (!names_schedule_file(text)) {
    if (const auto name = known_schedule(text)) return *name;  // accepts names of torch and papers
    refuse_key(table, key, unknown_schedule_words(text));
  }
  return file_in(table, key, folder, text, "schedule").string();
}

/// resume_at, resume_world, resume_schedule: the case's other keys then describe its first segment, and these the
/// resumed run.
void read_resume(const TomlTable& table, const fs::path& folder, ExtraCell& cell) {
  const auto at = table.integer("resume_at");
  for (const char* key : {"resume_world", "resume_schedule"}) {
    if (table.has(key) && !at)
      refuse_key(table, key, "has no effect without resume_at, the steps after which the run is stopped");
  }
  if (!at) return;
  if (!cell.changes.balance.empty())
    refuse_key(table, "balance",
               "balance cannot be combined with resume_at, because a balance fits only one number of ranks; set it in "
               "the run file, or use a partition");
  cell.resumes = FirstPart{*at, cell.world_size, cell.schedule};
  cell.world_size = table.integer("resume_world").value_or(cell.world_size);
  if (const auto schedule = table.text("resume_schedule"))
    cell.schedule = schedule_in(table, "resume_schedule", *schedule, folder);
}

ExtraCell read_cell(const TomlTable& table, const fs::path& folder) {
  check_keys(table, cell_keys());
  ExtraCell cell;
  cell.where = table.where("run");
  cell.run = file_in(table, "run", folder, *table.text("run"), "run");
  cell.world_size = *table.integer("world_size");
  cell.changes.replicas = table.integer("replicas");
  cell.schedule = table.text("schedule");
  const bool reference_begins = cell.schedule == by_the_reference && table.has("resume_at");
  if (reference_begins && cell.world_size != 1)
    refuse_key(
        table, "world_size",
        fmt::format("is {}; the reference, which \"{}\" means, runs on 1 rank", cell.world_size, by_the_reference));
  if (reference_begins && !table.has("resume_schedule"))
    refuse_key(table, "resume_schedule",
               "is missing; it names the schedule with which the run continues after the reference");
  if (cell.schedule && !reference_begins) cell.schedule = schedule_in(table, "schedule", *cell.schedule, folder);
  cell.changes.optimizer = table.text("optimizer");
  cell.changes.partition = table.text("partition");
  cell.changes.balance = table.integers("balance").value_or(std::vector<std::int64_t>{});
  cell.changes.lengths = table.integer_rows("lengths").value_or(std::vector<std::vector<std::int64_t>>{});
  if (table.has("balance") && cell.changes.partition)
    refuse_key(table, "balance", "balance cannot be combined with partition; keep one");
  if (table.has("balance") && std::ssize(cell.changes.balance) != cell.world_size)
    refuse_key(table, "balance",
               fmt::format("has {} stages for a world size of {}; give one number for each rank",
                           cell.changes.balance.size(), cell.world_size));
  read_resume(table, folder, cell);
  return cell;
}

/// A matrix needs all its keys: with some of them nothing would run, which would look like success.
void need_whole_matrix(const TomlTable& table, const SweepFile& sweep) {
  if (sweep.runs.empty() && sweep.world_sizes.empty()) {
    if (sweep.cells.empty()) {
      throw InputError(sweep.path.string() + ": nothing to run; give run and world_sizes, or [[cell]] tables");
    }
    for (const std::string key : {"schedules", "in_turn", "optimizers", "replicas"}) {
      if (table.has(key)) refuse_key(table, key, "has no effect without run and world_sizes; add them or remove it");
    }
    return;
  }
  if (sweep.runs.empty()) {
    throw InputError(sweep.path.string() + ", key run: missing; name the run files");
  }
  if (sweep.world_sizes.empty()) {
    throw InputError(sweep.path.string() + ", key world_sizes: missing; write for example [1, 2, 4]");
  }
}

void read_launcher(const TomlTable& table, SweepFile& sweep) {
  const auto named = table.text("launcher");
  sweep.own_launcher = named.has_value();
  if (sweep.commands && !sweep.commands->use_launcher) {
    if (!named) return;
    refuse_key(table, "launcher",
               fmt::format("has no effect: no command contains {}; remove it, or begin a command with that word",
                           launcher_word));
  }
  sweep.launcher = named ? *named : default_launcher();
  if (sweep.launcher.find("{world}") == std::string::npos)
    refuse_key(table, "launcher",
               fmt::format("must contain {{world}}, the number of ranks; \"{}\" is the default", default_launcher()));
}

}  // namespace

SweepFile read_sweep_file(const fs::path& path) {
  const TomlTable table = TomlTable::read(path);
  SweepFile sweep;
  read_keys(table, sweep_keys(), sweep);
  if (sweep.accept_gaps && sweep.bench)
    refuse_key(table, "accept_gaps", "excludes bench, which requires that there are no gaps; keep one");
  const fs::path folder = path.parent_path();
  sweep.path = path;
  const auto name = table.text("name");
  sweep.name = name ? checked_name(*name, table.where("name")) : name_of_file(path);
  sweep.id = name ? part_of_id(*name) : path.stem().string();
  if (starts_commands(table)) {
    sweep.commands = read_user_commands(table, folder);
    read_launcher(table, sweep);
    return sweep;
  }
  const std::vector<std::string> none;
  for (const auto& run : table.texts("run").value_or(none))
    sweep.runs.push_back(file_in(table, "run", folder, run, "run"));
  need_distinct(table, "run", sweep.runs);
  sweep.world_sizes = table.integers("world_sizes").value_or(std::vector<std::int64_t>{});
  for (const auto& schedule : table.texts("schedules").value_or(none))
    sweep.schedules.push_back(schedule_in(table, "schedules", schedule, folder));
  need_distinct(table, "schedules", sweep.schedules);
  read_launcher(table, sweep);
  sweep.device = table.text("device").value_or(sweep.device);
  sweep.calibrated = table.text("tier") == "calibrated";
  if (sweep.mixed_gpus && !sweep.calibrated) {
    refuse_key(table, "mixed_gpus",
               "GPUs of different models give different bits; add tier = \"calibrated\", or remove this");
  }
  for (const auto& cell : table.tables("cell")) {
    sweep.cells.push_back(read_cell(cell, folder));
  }
  for (const auto& cell : sweep.cells) {
    if (sweep.calibrated && cell.resumes)
      throw InputError(cell.where + ": resume_at needs tier = \"bits\", because limits are measured on whole runs");
  }
  need_whole_matrix(table, sweep);
  return sweep;
}

}  // namespace plumbline
