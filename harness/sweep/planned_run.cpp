// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/planned_run.hpp"

namespace plumbline {
namespace {

void set_level(RunChanges& changes, std::optional<PlannedCommand>& command, std::optional<Request>& request,
               const std::string& level) {
  changes.level = level;
  if (command) command->values["level"] = level;
  if (request) request->level = level;
}

}  // namespace

PlannedReference at_level(PlannedReference reference, const std::string& level) {
  set_level(reference.changes, reference.command, reference.request, level);
  return reference;
}

PlannedCell at_level(PlannedCell cell, const std::string& level) {
  set_level(cell.changes, cell.command, cell.plan.request, level);
  return cell;
}

}  // namespace plumbline
