// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/read_user_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/sweep/sweep_keys.hpp"
#include "support/error.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> command_cell_keys = {"world_size", "schedule", "reference", "candidate"};
/// Placeholders that are not values.
const std::vector<std::string> given_names = {"record",   "world",    "schedule",       "port",
                                              "launcher", "pipeline", norms_placeholder};

bool is_requested_key(const std::string& name) {
  return std::ranges::any_of(requested_keys(), [&](const TomlKey& each) { return each.name == name; });
}

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::ranges::find(names, name) != names.end();
}

std::string requested_value(const TomlTable& table, const TomlKey& key) {
  check_key(table, key);
  return *table.scalar_as_text(key.name);
}

void need_name(const TomlTable& table, const std::string& key) {
  const bool plain = !key.empty() && std::ranges::all_of(key, [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!plain)
    refuse_key(table, key, fmt::format("\"{}\" is not a placeholder name; use lower-case letters, digits and _", key));
  if (is_requested_key(key) || is_one_of(key, given_names) || is_one_of(key, command_cell_keys))
    refuse_key(table, key, key + " is reserved by plumbline; choose another name for your value");
}

std::vector<std::string> command_in(const TomlTable& table, const std::string& key) {
  const auto words = table.texts(key);
  if (!words) return {};
  if (words->empty() || words->front().empty())
    refuse_key(table, key, "does not name a program; give [\"program\", \"argument\", ...]");
  return *words;
}

std::set<std::string> names_in(const std::vector<std::string>& words) {
  std::set<std::string> names;
  for (const auto& word : words) {
    const auto found = placeholders_in(word);
    names.insert(found.begin(), found.end());
  }
  return names;
}

class CommandReader {
 public:
  CommandReader(const TomlTable& file, const fs::path& folder) : file_(file) {
    std::error_code error;
    // of a file named without a folder the folder is empty, which has no absolute path
    commands_.folder = folder.empty() ? fs::current_path() : fs::absolute(folder, error).lexically_normal();
  }

  UserCommands read() {
    read_environment();
    read_values();
    read_mesh();
    reference_ = command_in(file_, "reference");
    candidate_ = command_in(file_, "candidate");
    add_matrix();
    for (const auto& cell : file_.tables("cell")) add_cell(cell);
    if (commands_.cells.empty()) refuse_key(file_, "candidate", "nothing to run; give world_sizes, or [[cell]] tables");
    for (const auto& cell : commands_.cells) check(cell);
    for (const auto& [name, value] : values_) {
      if (!is_requested_key(name) && !used_.contains(name)) no_use_of(file_, "values", name, used_);
    }
    require_world_placeholder();
    return commands_;
  }

 private:
  void read_environment() {
    const auto table = file_.table("environment");
    if (!table) return;
    for (const auto& name : table->keys()) {
      if (name.empty() || name.find('=') != std::string::npos)
        refuse_key(*table, name, fmt::format("\"{}\" is not a variable name", name));
      commands_.environment[name] = *table->scalar_as_text(name);
    }
  }

  void read_values() {
    for (const TomlKey& key : requested_keys()) {
      if (file_.has(key.name)) values_[key.name] = requested_value(file_, key);
    }
    const auto table = file_.table("values");
    if (!table) return;
    for (const auto& name : table->keys()) {
      need_name(*table, name);
      values_[name] = *table->scalar_as_text(name);
    }
  }

  /// World sizes then count the ranks of one pipeline.
  void read_mesh() {
    const auto table = file_.table("mesh");
    if (!table) return;
    for (const auto& axis : table->keys()) {
      need_name(*table, axis);
      if (values_.contains(axis)) refuse_key(*table, axis, "is also a key of values; an axis is a placeholder itself");
      const std::int64_t size = table->integer(axis).value();
      if (size < 1 || size > largest_world / places_)
        refuse_key(*table, axis,
                   fmt::format("{} is not possible; the axes may have 1 to {} places in all", size, largest_world));
      mesh_[axis] = size;
      places_ *= size;
    }
  }

  void add_matrix() {
    const auto worlds = file_.integers("world_sizes").value_or(std::vector<std::int64_t>{});
    const auto schedules = file_.texts("schedules").value_or(std::vector<std::string>{});
    if (worlds.empty() && !schedules.empty())
      refuse_key(file_, "schedules", "has no effect without world_sizes; add them or remove it");
    if (is_one_of("", schedules)) refuse_key(file_, "schedules", "has an empty name");
    std::vector<std::optional<std::string>> all(schedules.begin(), schedules.end());
    if (all.empty()) all.emplace_back();
    for (const auto& schedule : all) {
      for (const auto world : worlds) commands_.cells.push_back(cell_of(file_, "world_sizes", world, schedule));
    }
  }

  CommandCell cell_of(const TomlTable& table, const std::string& key, std::int64_t world,
                      const std::optional<std::string>& schedule) const {
    if (world < 1 || world > largest_world / places_)
      refuse_key(table, key,
                 fmt::format("{} is not a world size; it must be between 1 and {}", world, largest_world / places_));
    return {.world_size = world * places_,
            .mesh = mesh_,
            .schedule = schedule,
            .reference = reference_,
            .candidate = candidate_,
            .values = values_,
            .own = {},
            .where = table.where(key)};
  }

  void add_cell(const TomlTable& table) {
    if (table.has("run"))
      refuse_key(table, "run",
                 "a run file is for Plumbline's trainers, but this sweep starts your own commands (reference, "
                 "candidate); keep one of the two");
    const auto world = table.integer("world_size");
    if (!world) refuse_key(table, "world_size", "is missing; every [[cell]] needs it");
    CommandCell cell = cell_of(table, "world_size", *world, table.text("schedule"));
    if (table.has("reference")) cell.reference = command_in(table, "reference");
    if (table.has("candidate")) cell.candidate = command_in(table, "candidate");
    for (const TomlKey& key : requested_keys()) {
      if (!table.has(key.name)) continue;
      cell.values[key.name] = requested_value(table, key);
      cell.own.push_back(key.name);
    }
    const auto used = names_of(cell);
    for (const auto& key : table.keys()) {
      if (is_one_of(key, command_cell_keys) || is_requested_key(key)) continue;
      if (!used.contains(key)) no_use_of(table, "", key, used);
      need_name(table, key);
      cell.values[key] = *table.scalar_as_text(key);
      cell.own.push_back(key);
    }
    commands_.cells.push_back(std::move(cell));
  }

  /// Placeholders in all texts of a case.
  std::set<std::string> names_of(const CommandCell& cell) const {
    std::set<std::string> names = names_in(cell.reference);
    names.merge(names_in(cell.candidate));
    for (const auto& [variable, value] : commands_.environment) names.merge(names_in({value}));
    return names;
  }

  [[noreturn]] void no_use_of(const TomlTable& table, const std::string& in, const std::string& key,
                              const std::set<std::string>& used) const {
    std::vector<std::string> known = command_cell_keys;
    for (const TomlKey& each : requested_keys()) known.push_back(each.name);
    known.insert(known.end(), used.begin(), used.end());
    const auto nearest = nearest_word(key, known);
    refuse_key(table, in.empty() ? key : in,
               fmt::format("unknown key {0}: no command uses {{{0}}}{1}", key,
                           nearest ? "; did you mean " + *nearest + "?" : ""));
  }

  void check(const CommandCell& cell) {
    if (cell.reference.empty() || cell.candidate.empty()) {
      const bool none = cell.reference.empty();
      refuse_key(file_, none ? "reference" : "candidate",
                 fmt::format("is missing; give the command that trains {}, as a list of words, here or in every "
                             "[[cell]]",
                             none ? "on one device" : "as a pipeline"));
    }
    for (const bool of_candidate : {false, true}) {
      try {
        const PlannedCommand command =
            of_candidate ? planned_candidate(cell, commands_) : planned_reference(cell, commands_);
        if (is_one_of(launcher_word, command.words)) commands_.use_launcher = true;
        if (!names_in(command.words).contains("record"))
          throw InputError("must contain {record}; otherwise all runs write to one folder");
        if (of_candidate && uses_placeholder(command, norms_placeholder))
          throw InputError(
              "contains {norms_from}, but only the reference replays norms, those of the candidate's record; remove it "
              "here, and from [environment], which both commands share");
        started_command(command, {"", 0, {"launcher"}});
      } catch (const InputError& error) {
        throw InputError(
            fmt::format("{}, its {}: {}", cell.where, of_candidate ? "candidate" : "reference", error.what()));
      }
    }
    used_.merge(names_of(cell));
  }

  /// If cases have different world sizes, the candidate must get them.
  void require_world_placeholder() const {
    const auto differs = [&](const CommandCell& cell) { return cell.world_size != commands_.cells[0].world_size; };
    if (std::ranges::none_of(commands_.cells, differs)) return;
    for (const auto& cell : commands_.cells) {
      auto names = names_in(cell.candidate);
      for (const auto& [variable, value] : commands_.environment) names.merge(names_in({value}));
      if (names.contains("world") || is_one_of(launcher_word, cell.candidate)) continue;
      throw InputError(cell.where + ", its candidate: must contain {world}, the number of ranks");
    }
  }

  const TomlTable& file_;
  UserCommands commands_;
  Placeholders values_;
  std::map<std::string, std::int64_t> mesh_;
  std::int64_t places_ = 1;
  std::vector<std::string> reference_, candidate_;
  std::set<std::string> used_;
};

}  // namespace

bool starts_commands(const TomlTable& file) {
  const auto first = [&](const std::vector<KeyOf<SweepFile>>& keys) -> std::optional<std::string> {
    const auto found = std::ranges::find_if(keys, [&](const auto& each) { return file.has(each.key.name); });
    return found == keys.end() ? std::nullopt : std::optional(found->key.name);
  };
  bool of_cells = false;
  for (const auto& cell : file.tables("cell")) {
    of_cells = of_cells || cell.has("reference") || cell.has("candidate");
  }
  const auto command = first(command_sweep_keys());
  const bool starts = of_cells || file.has("reference") || file.has("candidate");
  if (command && !starts) refuse_key(file, *command, "needs commands of your own; name them (reference, candidate)");
  if (const auto other = first(run_file_sweep_keys()); other && starts)
    refuse_key(file, *other,
               "needs run files of Plumbline's trainers, but this sweep starts your own commands (reference, "
               "candidate); keep one of the two");
  return starts;
}

UserCommands read_user_commands(const TomlTable& file, const fs::path& folder) {
  return CommandReader(file, folder).read();
}

}  // namespace plumbline
