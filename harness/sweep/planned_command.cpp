// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/planned_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "harness/launch/launcher.hpp"
#include "support/error.hpp"
#include "support/paths.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// Calls `plain` for each literal character and `named` for each name in braces.
void walk_text(const std::string& text, const std::function<void(char)>& plain,
               const std::function<void(const std::string&)>& named) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c != '{' && c != '}') {
      plain(c);
      continue;
    }
    if (at + 1 < text.size() && text[at + 1] == c) {
      plain(c);
      ++at;
      continue;
    }
    const auto end = c == '{' ? text.find_first_of("{}", at + 1) : std::string::npos;
    if (end == std::string::npos || text[end] == '{') {
      throw InputError("\"" + text + "\": has a single " + std::string(1, c) + "; write " + std::string(2, c) +
                       " for a literal one");
    }
    named(text.substr(at + 1, end - at - 1));
    at = end;
  }
}

/// Each has a pipeline, in the reference of one rank.
std::int64_t places_of(const CommandCell& cell) {
  std::int64_t places = 1;
  for (const auto& [axis, size] : cell.mesh) places *= size;
  return places;
}

PlannedCommand planned_command(const CommandCell& cell, const UserCommands& commands,
                               const std::vector<std::string>& words, std::int64_t ranks) {
  PlannedCommand command;
  command.words = words;
  command.environment = commands.environment;
  command.values = cell.values;
  command.values["world"] = std::to_string(ranks);
  command.mesh = cell.mesh;
  if (!cell.mesh.empty()) command.values["pipeline"] = std::to_string(ranks / places_of(cell));
  for (const auto& [axis, size] : cell.mesh) command.values[axis] = std::to_string(size);
  if (cell.schedule) command.values["schedule"] = *cell.schedule;
  if (uses_placeholder(command, "level")) command.values.emplace("level", "full");
  command.folder = commands.folder;
  command.ranks = ranks;
  return command;
}

}  // namespace

std::vector<std::string> placeholders_in(const std::string& text) {
  std::vector<std::string> names;
  walk_text(
      text, [](char) {}, [&](const std::string& name) { names.push_back(name); });
  return names;
}

std::string filled_in(const std::string& text, const Placeholders& values) {
  std::string filled;
  walk_text(
      text, [&](char c) { filled += c; },
      [&](const std::string& name) {
        const auto found = values.find(name);
        if (found != values.end()) {
          filled += found->second;
          return;
        }
        std::vector<std::string> known;
        for (const auto& [each, value] : values) known.push_back(each);
        const auto nearest = nearest_word(name, known);
        for (auto& each : known) each = "{" + each + "}";
        throw InputError("\"" + text + "\": unknown placeholder {" + name + "}" +
                         (nearest ? "; did you mean {" + *nearest + "}?" : ".") + " The placeholders are " +
                         join(known, ", ") + "; {{ and }} are literal braces");
      });
  return filled;
}

PlannedCommand planned_candidate(const CommandCell& cell, const UserCommands& commands) {
  PlannedCommand command = planned_command(cell, commands, cell.candidate, cell.world_size);
  command.is_candidate = true;
  return command;
}

PlannedCommand planned_reference(const CommandCell& cell, const UserCommands& commands) {
  return planned_command(cell, commands, cell.reference, places_of(cell));
}

StartedCommand started_command(const PlannedCommand& command, const LaunchPlace& place) {
  Placeholders values = command.values;
  values["record"] = place.record;
  values["port"] = std::to_string(place.port);
  if (!command.is_candidate) values.emplace(norms_placeholder, "");
  StartedCommand started;
  for (const auto& word : command.words) {
    if (word == launcher_word) {
      started.words.insert(started.words.end(), place.launcher.begin(), place.launcher.end());
    } else {
      started.words.push_back(filled_in(word, values));
    }
  }
  std::string& program = started.words.front();
  if (!command.folder.empty() && program.find('/') != std::string::npos)
    program = (command.folder / program).lexically_normal().string();
  for (const auto& [variable, value] : command.environment) started.environment[variable] = filled_in(value, values);
  return started;
}

bool uses_placeholder(const PlannedCommand& command, const std::string& name) {
  const auto holds = [&](const std::string& text) { return std::ranges::count(placeholders_in(text), name) > 0; };
  return std::ranges::any_of(command.words, holds) ||
         std::ranges::any_of(command.environment, [&](const auto& each) { return holds(each.second); });
}

bool trains_on_gpus(const PlannedCommand& command) {
  const auto device = command.values.find("device");
  return device != command.values.end() && device->second == "cuda";
}

std::string identity_of(const PlannedCommand& command) {
  const StartedCommand started = started_command(command, {"{record}", 0, {launcher_word}});
  std::string identity = join(started.words, "\n") + "\n\n";
  for (const auto& [variable, value] : started.environment) identity += fmt::format("{}={}\n", variable, value);
  return identity + command.folder.string();
}

std::filesystem::path program_of(const PlannedCommand& command, const std::vector<std::string>& launcher) {
  const std::string name = started_command(command, {"", 0, launcher}).words.front();
  if (name.find('/') != std::string::npos && !path_exists(name)) {
    throw InputError(
        fmt::format("no such program: {}. A path is relative to the sweep file's folder; a name without a folder is "
                    "searched on PATH",
                    name));
  }
  try {
    return find_program(name);
  } catch (const SystemError&) {
    throw InputError(name +
                     (name.find('/') != std::string::npos ? " cannot be executed (chmod +x)" : " is not on PATH"));
  }
}

}  // namespace plumbline
