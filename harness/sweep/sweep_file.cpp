// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_file.hpp"

#include <algorithm>

#include "harness/judge/judge.hpp"
#include "harness/launch/default_launcher.hpp"
#include "harness/sweep/names.hpp"
#include "harness/sweep/read_user_commands.hpp"
#include "schedule/runnable.hpp"
#include "schedule/schedule.hpp"
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
  if (std::find(known.begin(), known.end(), value) != known.end()) return;
  const auto nearest = nearest_word(value, known);
  throw InputError(table.where(key) + ": \"" + value + "\" is not known" +
                   (nearest ? "; did you mean \"" + *nearest + "\"?" : ".") + " Known are " + join(known, ", ") + ".");
}

void need_known_all(const TomlTable& table, const std::string& key, const std::vector<std::string>& values,
                    const std::vector<std::string>& known) {
  for (const auto& value : values) need_known(table, key, value, known);
}

void need_replicas(const TomlTable& table, std::int64_t replicas) {
  if (replicas >= 1 && replicas <= largest_world) return;
  throw InputError(table.where("replicas") + ": " + std::to_string(replicas) +
                   " is not a number of pipelines; it must be between 1 and " + std::to_string(largest_world));
}

void need_world(const TomlTable& table, const std::string& key, std::int64_t world) {
  if (world >= 1 && world <= largest_world) return;
  throw InputError(table.where(key) + ": " + std::to_string(world) + " is not a world size; it must be between 1 and " +
                   std::to_string(largest_world));
}

template <typename Value>
void need_distinct(const TomlTable& table, const std::string& key, std::vector<Value> values) {
  std::sort(values.begin(), values.end());
  if (std::adjacent_find(values.begin(), values.end()) != values.end()) {
    throw InputError(table.where(key) + ": holds the same value twice; remove one");
  }
}

fs::path run_path(const TomlTable& table, const fs::path& folder, const std::string& text) {
  const fs::path path = (folder / text).lexically_normal();
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return path;
  throw InputError(table.where("run") + ": there is no run file " + path.string() +
                   "; paths are relative to the sweep file's folder");
}

/// A schedule's canonical name, or a schedule file's path from here. Throws InputError for an unknown name and a
/// missing file.
std::string known_schedule(const TomlTable& table, const std::string& key, const std::string& text,
                           const fs::path& folder) {
  if (!names_schedule_file(text)) {
    const std::string name = plumbline::known_schedule(text).value_or(text);  // accepts names of torch and papers
    need_known(table, key, name, schedule_names());
    return name;
  }
  const fs::path path = (folder / text).lexically_normal();
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) return path.string();
  throw InputError(table.where(key) + ": there is no schedule file " + path.string() +
                   "; paths are relative to the sweep file's folder");
}

template <typename Value>
Value required(const TomlTable& table, const std::string& key, std::optional<Value> value) {
  if (value) return *value;
  throw InputError(table.where(key) + ": is missing; every [[cell]] needs it");
}

/// resume_at, resume_world, resume_schedule: the case's other keys then describe its first segment, and these the
/// resumed run.
void read_resume(const TomlTable& table, const fs::path& folder, ExtraCell& cell) {
  const auto at = table.integer("resume_at");
  for (const char* key : {"resume_world", "resume_schedule"}) {
    if (table.has(key) && !at)
      throw InputError(table.where(key) +
                       ": has no effect without resume_at, the steps after which the run is stopped");
  }
  if (!at) return;
  if (*at < 1)
    throw InputError(table.where("resume_at") + ": " + std::to_string(*at) +
                     " is not possible; it is the number of steps after which the run is stopped, 1 or more");
  if (!cell.changes.balance.empty())
    throw InputError(table.where("balance") +
                     ": balance and resume_at exclude each other, because a balance is for one " +
                     "number of ranks; set it in the run file, or use a partition");
  cell.resumes = FirstPart{*at, cell.world_size, cell.schedule};
  cell.world_size = table.integer("resume_world").value_or(cell.world_size);
  need_world(table, "resume_world", cell.world_size);
  if (const auto schedule = table.text("resume_schedule"))
    cell.schedule = known_schedule(table, "resume_schedule", *schedule, folder);
}

ExtraCell read_cell(const TomlTable& table, const fs::path& folder) {
  // First, so that a misspelt key is not reported as a missing one.
  for (const char* key : {"run", "world_size", "schedule", "optimizer", "granularity", "partition", "balance",
                          "lengths", "resume_at", "resume_world", "resume_schedule", "replicas"}) {
    table.has(key);
  }
  table.refuse_unknown_keys();
  ExtraCell cell;
  cell.where = table.where("run");
  cell.run = run_path(table, folder, required(table, "run", table.text("run")));
  cell.world_size = required(table, "world_size", table.integer("world_size"));
  need_world(table, "world_size", cell.world_size);
  cell.changes.replicas = table.integer("replicas");
  if (cell.changes.replicas) need_replicas(table, *cell.changes.replicas);
  cell.schedule = table.text("schedule");
  const bool reference_begins = cell.schedule == by_the_reference && table.has("resume_at");
  if (reference_begins && cell.world_size != 1)
    throw InputError(table.where("world_size") + ": is " + std::to_string(cell.world_size) +
                     "; the reference, which \"" + by_the_reference + "\" means, runs on 1 rank");
  if (reference_begins && !table.has("resume_schedule"))
    throw InputError(table.where("resume_schedule") + ": is missing; after the reference it names the schedule under " +
                     "which the run continues");
  if (cell.schedule && !reference_begins) cell.schedule = known_schedule(table, "schedule", *cell.schedule, folder);
  cell.changes.optimizer = table.text("optimizer");
  if (cell.changes.optimizer) need_known(table, "optimizer", *cell.changes.optimizer, optimizer_names);
  cell.changes.granularity = table.text("granularity");
  if (cell.changes.granularity) need_known(table, "granularity", *cell.changes.granularity, granularity_names);
  cell.changes.partition = table.text("partition");
  if (cell.changes.partition) need_known(table, "partition", *cell.changes.partition, partition_names);
  cell.changes.balance = table.integers("balance").value_or(std::vector<std::int64_t>{});
  cell.changes.lengths = table.integer_rows("lengths").value_or(std::vector<std::vector<std::int64_t>>{});
  for (const auto& row : cell.changes.lengths) {
    if (row.empty()) throw InputError(table.where("lengths") + ": has a microbatch without rows; give its row lengths");
  }
  if (table.has("balance") && cell.changes.partition) {
    throw InputError(table.where("balance") + ": balance and partition exclude each other; keep one");
  }
  if (table.has("balance") && static_cast<std::int64_t>(cell.changes.balance.size()) != cell.world_size) {
    throw InputError(table.where("balance") + ": has " + std::to_string(cell.changes.balance.size()) +
                     " stages for a world size of " + std::to_string(cell.world_size) +
                     "; give one number for each rank");
  }
  read_resume(table, folder, cell);
  for (const auto layers : cell.changes.balance) {
    if (layers < 0 || layers > most_layers)
      throw InputError(table.where("balance") + ": " + std::to_string(layers) + " layers are not possible");
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
      if (table.has(key)) {
        throw InputError(table.where(key) + ": has no effect without run and world_sizes; add them or remove it");
      }
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
    if (table.has(key) && table.texts(key)->empty()) {
      throw InputError(table.where(key) + ": is empty; omit it, or name at least one");
    }
  }
}

/// Rules for commands and run files alike.
void read_for_all(const TomlTable& table, SweepFile& sweep) {
  sweep.checks = table.texts("checks").value_or(std::vector<std::string>{});
  need_known_all(table, "checks", sweep.checks, check_names());
  need_distinct(table, "checks", sweep.checks);
  sweep.repeat = table.texts("repeat").value_or(std::vector<std::string>{});
  need_distinct(table, "repeat", sweep.repeat);
  sweep.time_limit_s = table.number("time_limit_s").value_or(sweep.time_limit_s);
  if (!(sweep.time_limit_s > 0 && sweep.time_limit_s <= 1e6)) {
    throw InputError(table.where("time_limit_s") + ": must be above 0 seconds and at most a million");
  }
}

void read_launcher(const TomlTable& table, SweepFile& sweep) {
  const auto named = table.text("launcher");
  sweep.own_launcher = named.has_value();
  if (sweep.commands && !sweep.commands->use_launcher) {
    if (!named) return;
    throw InputError(table.where("launcher") + ": has no effect, since no command holds " + launcher_word +
                     "; remove it, or begin a command with that word");
  }
  sweep.launcher = named ? *named : default_launcher();
  if (sweep.launcher.find("{world}") == std::string::npos) {
    throw InputError(table.where("launcher") + ": holds no {world}, so no number of ranks can be requested; \"" +
                     default_launcher() + "\" is the default");
  }
}

}  // namespace

SweepFile read_sweep_file(const fs::path& path) {
  const TomlTable table = TomlTable::read(path);
  // First, so that a misspelt key is not reported as a missing one.
  for (const char* key :
       {"name", "world_sizes", "schedules", "checks", "repeat", "launcher", "device", "time_limit_s", "cell"})
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
  for (const auto& run : table.texts("run").value_or(std::vector<std::string>{})) {
    sweep.runs.push_back(run_path(table, folder, run));
  }
  need_distinct(table, "run", sweep.runs);
  sweep.world_sizes = table.integers("world_sizes").value_or(std::vector<std::int64_t>{});
  for (const auto world : sweep.world_sizes) need_world(table, "world_sizes", world);
  need_distinct(table, "world_sizes", sweep.world_sizes);
  sweep.replicas = table.integers("replicas").value_or(std::vector<std::int64_t>{});
  for (const auto replicas : sweep.replicas) need_replicas(table, replicas);
  need_distinct(table, "replicas", sweep.replicas);
  const auto texts = [&](const std::string& key, const std::vector<std::string>& known) {
    const auto values = table.texts(key).value_or(std::vector<std::string>{});
    need_known_all(table, key, values, known);
    need_distinct(table, key, values);
    return values;
  };
  for (const auto& schedule : table.texts("schedules").value_or(std::vector<std::string>{})) {
    sweep.schedules.push_back(known_schedule(table, "schedules", schedule, folder));
  }
  need_distinct(table, "schedules", sweep.schedules);
  sweep.in_turn = texts("in_turn", schedule_names());
  sweep.optimizers = texts("optimizers", optimizer_names);
  sweep.granularities = texts("granularities", granularity_names);
  read_for_all(table, sweep);
  sweep.clipping = table.boolean("clipping").value_or(false);
  sweep.bench = table.boolean("bench").value_or(false);
  sweep.audit = table.boolean("audit").value_or(false);
  if (sweep.audit && !sweep.checks.empty() && std::ranges::find(sweep.checks, "audit") == sweep.checks.end()) {
    throw InputError(table.where("audit") + ": asks for values for the check audit to recompute, but checks omits " +
                     "that check; add it there or remove this");
  }
  read_launcher(table, sweep);
  sweep.device = table.text("device").value_or(sweep.device);
  if (sweep.device != "cpu" && sweep.device != "cuda") {
    throw InputError(table.where("device") + ": \"" + sweep.device + "\" is unknown; give cpu or cuda");
  }
  const std::string tier = table.text("tier").value_or("bits");
  if (tier != "bits" && tier != "calibrated") {
    throw InputError(table.where("tier") + ": \"" + tier + "\" is unknown; give bits (the default) or calibrated");
  }
  sweep.calibrated = tier == "calibrated";
  sweep.mixed_gpus = table.boolean("mixed_gpus").value_or(false);
  if (sweep.mixed_gpus && !sweep.calibrated) {
    throw InputError(table.where("mixed_gpus") +
                     ": GPUs of different models give different bits; add tier = \"calibrated\", or remove this");
  }
  for (const auto& cell : table.tables("cell")) {
    // keys() first, which does not mark keys as requested: removed keys are not suggested as known ones.
    const auto given = cell.keys();
    const std::string removed = "process_memory_limit";
    if (std::ranges::find(given, removed) != given.end() && cell.has(removed))
      sweep.notes.push_back(cell.where(removed) + ": is ignored: limits on a process' memory were removed");
    sweep.cells.push_back(read_cell(cell, folder));
  }
  for (const auto& cell : sweep.cells) {
    if (sweep.calibrated && cell.resumes)
      throw InputError(cell.where + ": resume_at needs tier = \"bits\": limits are measured on runs from their start");
  }
  need_whole_matrix(table, sweep);
  return sweep;
}

}  // namespace plumbline
