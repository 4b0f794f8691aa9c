// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_file.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/judge.hpp"
#include "harness/launch/default_launcher.hpp"
#include "harness/sweep/names.hpp"
#include "harness/sweep/read_user_commands.hpp"
#include "schedule/runnable.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_words.hpp"
#include "support/error.hpp"
#include "support/text.hpp"
#include "support/toml.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> optimizer_names{"adamw", "sgd"};
const std::vector<std::string> granularity_names{"layer", "half"};
const std::vector<std::string> partition_names{"uniform", "cost"};

void need_known(const TomlTable& table, const std::string& key, const std::string& value,
                const std::vector<std::string>& known) {
  if (std::ranges::find(known, value) != known.end()) return;
  const std::string meant = did_you_mean(value, known);
  refuse_key(table, key,
             fmt::format("\"{}\" is not known{} Known are {}.", value, meant.empty() ? "." : meant, join(known, ", ")));
}

void need_count(const TomlTable& table, const std::string& key, std::int64_t count, const char* what) {
  if (count >= 1 && count <= largest_world) return;
  refuse_key(table, key, fmt::format("{} is not a {}; it must be between 1 and {}", count, what, largest_world));
}

template <typename Value>
void need_distinct(const TomlTable& table, const std::string& key, std::vector<Value> values) {
  std::ranges::sort(values);
  if (std::ranges::adjacent_find(values) != values.end())
    refuse_key(table, key, "has the same value twice; remove one");
}

std::vector<std::string> texts_of(const TomlTable& table, const std::string& key) {
  return table.texts(key).value_or(std::vector<std::string>{});
}

std::vector<std::int64_t> integers_of(const TomlTable& table, const std::string& key) {
  return table.integers(key).value_or(std::vector<std::int64_t>{});
}

/// Distinct ones of `known`.
std::vector<std::string> known_texts(const TomlTable& table, const std::string& key,
                                     const std::vector<std::string>& known) {
  const auto values = texts_of(table, key);
  for (const auto& value : values) need_known(table, key, value, known);
  need_distinct(table, key, values);
  return values;
}

std::optional<std::string> known_text(const TomlTable& table, const std::string& key,
                                      const std::vector<std::string>& known) {
  const auto value = table.text(key);
  if (value) need_known(table, key, *value, known);
  return value;
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
std::string known_schedule(const TomlTable& table, const std::string& key, const std::string& text,
                           const fs::path& folder) {
  if (!names_schedule_file(text)) {
    if (const auto name = plumbline::known_schedule(text)) return *name;  // accepts names of torch and papers
    refuse_key(table, key, unknown_schedule_words(text));
  }
  return file_in(table, key, folder, text, "schedule").string();
}

template <typename Value>
Value required(const TomlTable& table, const std::string& key, std::optional<Value> value) {
  if (value) return *value;
  refuse_key(table, key, "is missing; every [[cell]] needs it");
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
  if (*at < 1)
    refuse_key(
        table, "resume_at",
        fmt::format("{} is not possible; it is the number of steps after which the run is stopped, 1 or more", *at));
  if (!cell.changes.balance.empty())
    refuse_key(table, "balance",
               "balance cannot be combined with resume_at, because a balance fits only one number of ranks; set it in "
               "the run file, or use a partition");
  cell.resumes = FirstPart{*at, cell.world_size, cell.schedule};
  cell.world_size = table.integer("resume_world").value_or(cell.world_size);
  need_count(table, "resume_world", cell.world_size, "world size");
  if (const auto schedule = table.text("resume_schedule"))
    cell.schedule = known_schedule(table, "resume_schedule", *schedule, folder);
}

ExtraCell read_cell(const TomlTable& table, const fs::path& folder) {
  // First, so that a misspelled key is not reported as a missing one.
  for (const char* key : {"run", "world_size", "schedule", "optimizer", "granularity", "partition", "balance",
                          "lengths", "resume_at", "resume_world", "resume_schedule", "replicas"}) {
    table.has(key);
  }
  table.refuse_unknown_keys();
  ExtraCell cell;
  cell.where = table.where("run");
  cell.run = file_in(table, "run", folder, required(table, "run", table.text("run")), "run");
  cell.world_size = required(table, "world_size", table.integer("world_size"));
  need_count(table, "world_size", cell.world_size, "world size");
  cell.changes.replicas = table.integer("replicas");
  if (cell.changes.replicas) need_count(table, "replicas", *cell.changes.replicas, "number of pipelines");
  cell.schedule = table.text("schedule");
  const bool reference_begins = cell.schedule == by_the_reference && table.has("resume_at");
  if (reference_begins && cell.world_size != 1)
    refuse_key(
        table, "world_size",
        fmt::format("is {}; the reference, which \"{}\" means, runs on 1 rank", cell.world_size, by_the_reference));
  if (reference_begins && !table.has("resume_schedule"))
    refuse_key(table, "resume_schedule",
               "is missing; it names the schedule with which the run continues after the reference");
  if (cell.schedule && !reference_begins) cell.schedule = known_schedule(table, "schedule", *cell.schedule, folder);
  cell.changes.optimizer = known_text(table, "optimizer", optimizer_names);
  cell.changes.granularity = known_text(table, "granularity", granularity_names);
  cell.changes.partition = known_text(table, "partition", partition_names);
  cell.changes.balance = integers_of(table, "balance");
  cell.changes.lengths = table.integer_rows("lengths").value_or(std::vector<std::vector<std::int64_t>>{});
  for (const auto& row : cell.changes.lengths) {
    if (row.empty()) refuse_key(table, "lengths", "has a microbatch without rows; give its row lengths");
  }
  if (table.has("balance") && cell.changes.partition)
    refuse_key(table, "balance", "balance cannot be combined with partition; keep one");
  if (table.has("balance") && std::ssize(cell.changes.balance) != cell.world_size)
    refuse_key(table, "balance",
               fmt::format("has {} stages for a world size of {}; give one number for each rank",
                           cell.changes.balance.size(), cell.world_size));
  read_resume(table, folder, cell);
  for (const auto layers : cell.changes.balance) {
    if (layers < 0 || layers > most_layers)
      refuse_key(table, "balance", fmt::format("{} layers are not possible", layers));
  }
  return cell;
}

/// A matrix needs all its keys: with some of them nothing would run, which would look like success.
void need_whole_matrix(const TomlTable& table, const SweepFile& sweep) {
  if (sweep.runs.empty() && sweep.world_sizes.empty()) {
    if (sweep.cells.empty()) {
      throw InputError(sweep.path.string() + ": nothing to run; give run and world_sizes, or [[cell]] tables");
    }
    for (const std::string key : {"schedules", "in_turn", "optimizers", "granularities", "replicas"}) {
      if (table.has(key)) refuse_key(table, key, "has no effect without run and world_sizes; add them or remove it");
    }
    return;
  }
  if (sweep.runs.empty()) {
    throw InputError(sweep.path.string() + ", key run: missing or empty; name the run files");
  }
  if (sweep.world_sizes.empty()) {
    throw InputError(sweep.path.string() + ", key world_sizes: missing or empty; write for example [1, 2, 4]");
  }
  for (const std::string key : {"schedules", "in_turn", "optimizers", "granularities", "checks"}) {
    if (table.has(key) && table.texts(key)->empty()) refuse_key(table, key, "is empty; omit it, or name at least one");
  }
}

/// Rules for both commands and run files.
void read_for_all(const TomlTable& table, SweepFile& sweep) {
  sweep.checks = known_texts(table, "checks", check_names());
  sweep.accept_missing = known_texts(table, "accept_missing", claims_of_every_case());
  sweep.repeat = texts_of(table, "repeat");
  need_distinct(table, "repeat", sweep.repeat);
  sweep.time_limit_s = table.number("time_limit_s").value_or(sweep.time_limit_s);
  if (!(sweep.time_limit_s > 0 && sweep.time_limit_s <= 1e6))
    refuse_key(table, "time_limit_s", "must be above 0 seconds and at most a million");
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
  // First, so that a misspelled key is not reported as a missing one.
  for (const char* key : {"name", "world_sizes", "schedules", "checks", "accept_missing", "repeat", "launcher",
                          "device", "time_limit_s", "cell"})
    table.has(key);
  for (const auto* keys : {&command_keys(), &run_file_keys()}) {
    for (const auto& key : *keys) table.has(key);
  }
  table.refuse_unknown_keys();
  const fs::path folder = path.parent_path();
  SweepFile sweep;
  sweep.path = path;
  const auto name = table.text("name");
  sweep.name = name ? checked_name(*name, table.where("name")) : name_of_file(path);
  sweep.id = name ? part_of_id(*name) : path.stem().string();
  if (starts_commands(table)) {
    sweep.commands = read_user_commands(table, folder);
    read_for_all(table, sweep);
    read_launcher(table, sweep);
    return sweep;
  }
  for (const auto& run : texts_of(table, "run")) sweep.runs.push_back(file_in(table, "run", folder, run, "run"));
  need_distinct(table, "run", sweep.runs);
  sweep.world_sizes = integers_of(table, "world_sizes");
  for (const auto world : sweep.world_sizes) need_count(table, "world_sizes", world, "world size");
  need_distinct(table, "world_sizes", sweep.world_sizes);
  sweep.replicas = integers_of(table, "replicas");
  for (const auto replicas : sweep.replicas) need_count(table, "replicas", replicas, "number of pipelines");
  need_distinct(table, "replicas", sweep.replicas);
  for (const auto& schedule : texts_of(table, "schedules"))
    sweep.schedules.push_back(known_schedule(table, "schedules", schedule, folder));
  need_distinct(table, "schedules", sweep.schedules);
  sweep.in_turn = known_texts(table, "in_turn", schedule_names());
  sweep.optimizers = known_texts(table, "optimizers", optimizer_names);
  sweep.granularities = known_texts(table, "granularities", granularity_names);
  read_for_all(table, sweep);
  sweep.clipping = table.boolean("clipping").value_or(false);
  sweep.bench = table.boolean("bench").value_or(false);
  read_launcher(table, sweep);
  sweep.device = table.text("device").value_or(sweep.device);
  if (sweep.device != "cpu" && sweep.device != "cuda") {
    refuse_key(table, "device", fmt::format("\"{}\" is unknown; give cpu or cuda", sweep.device));
  }
  const std::string comparison_mode = table.text("tier").value_or("bits");
  if (comparison_mode != "bits" && comparison_mode != "calibrated") {
    refuse_key(table, "tier", fmt::format("\"{}\" is unknown; give bits (the default) or calibrated", comparison_mode));
  }
  sweep.calibrated = comparison_mode == "calibrated";
  sweep.mixed_gpus = table.boolean("mixed_gpus").value_or(false);
  if (sweep.mixed_gpus && !sweep.calibrated) {
    refuse_key(table, "mixed_gpus",
               "GPUs of different models give different bits; add tier = \"calibrated\", or remove this");
  }
  for (const auto& cell : table.tables("cell")) {
    // keys() first, which does not mark keys as requested: removed keys are not suggested as known ones.
    const auto given = cell.keys();
    const std::string removed = "process_memory_limit";
    if (std::ranges::find(given, removed) != given.end() && cell.has(removed))
      sweep.notes.push_back(cell.where(removed) + ": is ignored; limits on process memory were removed");
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
