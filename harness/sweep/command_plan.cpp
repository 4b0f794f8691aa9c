// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/command_plan.hpp"

#include <algorithm>
#include <set>

#include "harness/sweep/trainer_programs.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// A part of an id, which is a folder's name: the text itself if it is valid there, else its hash.
std::string as_part_of_id(const std::string& text) {
  constexpr std::size_t most_characters = 40;
  constexpr const char* plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+";
  const bool fits = !text.empty() && text.size() <= most_characters && text.front() != '.' &&
                    text.find_first_not_of(std::string(plain) + "-") == std::string::npos;
  return fits ? text : hash_hex(text).substr(0, 6);
}

class CommandPlanner {
 public:
  explicit CommandPlanner(const SweepFile& sweep) : sweep_(sweep), commands_(*sweep.commands) {}

  SweepPlan plan() {
    for (const auto& cell : commands_.cells) add(cell);
    return plan_;
  }

 private:
  void add(const CommandCell& wanted) {
    PlannedCell cell;
    CellPlan& plan = cell.plan;
    plan.id = id_of(wanted);
    if (!ids_.insert(plan.id).second) {
      throw InputError(wanted.where + ": the case " + plan.id +
                       " is in the sweep twice; remove one, or give the two different values");
    }
    cell.run = sweep_.path;
    cell.schedule = wanted.schedule.value_or("");
    cell.command = planned_candidate(wanted, commands_);
    need_program(wanted, *cell.command);
    cell.reference = reference_of(wanted);
    plan.reference = plan_.references[cell.reference].id;
    plan.run = plan.model = sweep_.name;
    plan.schedule = cell.schedule;
    plan.variant = variant_of(wanted);
    plan.world = wanted.world_size;
    plan.checks = sweep_.checks;
    plan_.cells.push_back(std::move(cell));
  }

  static std::string id_of(const CommandCell& cell) {
    std::string id;
    for (const auto& name : cell.own) id.append(name).append("-").append(as_part_of_id(cell.values.at(name))) += '-';
    if (cell.schedule) id += as_part_of_id(*cell.schedule) + "-";
    return id + "w" + std::to_string(cell.world_size);
  }

  static std::string variant_of(const CommandCell& cell) {
    std::vector<std::string> parts;
    for (const auto& name : cell.own) parts.push_back(name + " " + cell.values.at(name));
    return join(parts, ", ");
  }

  void need_program(const CommandCell& cell, const PlannedCommand& command) const {
    try {
      program_of(command, launcher_words(sweep_.launcher, command.ranks));
    } catch (const InputError& error) {
      throw InputError(cell.where + ", its " + (command.is_candidate ? "candidate: " : "reference: ") + error.what());
    }
  }

  std::size_t reference_of(const CommandCell& wanted) {
    const PlannedCommand command = planned_reference(wanted, commands_);
    const std::string identity = identity_of(command);
    const auto known = std::ranges::find(identities_, identity);
    if (known != identities_.end()) return static_cast<std::size_t>(known - identities_.begin());
    need_program(wanted, command);
    identities_.push_back(identity);
    plan_.references.push_back({reference_id(wanted, command), sweep_.path, {}, {}, command});
    return plan_.references.size() - 1;
  }

  /// Names a case by values of its command that differ between cases.
  std::string reference_id(const CommandCell& cell, const PlannedCommand& command) const {
    std::string id = sweep_.id;
    for (const auto& name : cell.own) {
      if (uses_placeholder(command, name))
        id.append("-").append(name).append("-") += as_part_of_id(cell.values.at(name));
    }
    const auto taken = [&](const std::string& other) {
      return std::ranges::find(plan_.references, other, &PlannedReference::id) != plan_.references.end();
    };
    if (taken(id)) id += "-" + hash_hex(identity_of(command)).substr(0, 6);
    return id;
  }

  const SweepFile& sweep_;
  const UserCommands& commands_;
  SweepPlan plan_;
  std::set<std::string> ids_;
  std::vector<std::string> identities_;  ///< of the references, in order
};

}  // namespace

SweepPlan plan_of_commands(const SweepFile& sweep) {
  return CommandPlanner(sweep).plan();
}

}  // namespace plumbline
