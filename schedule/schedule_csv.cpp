// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/schedule_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "schedule/csv_import.hpp"
#include "schedule/schedule.hpp"
#include "schedule/verifier.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/plain_text.hpp"

namespace plumbline {

std::string to_csv(const Schedule& schedule) {
  std::string text;
  for (const ActionList& list : schedule.ranks) {
    std::vector<std::string> cells;
    cells.reserve(list.size());
    for (const Action& action : list) cells.push_back(to_text(action));
    text += csv_line(cells);
  }
  return text;
}

Schedule lists_from_csv(const std::string& path, const std::string& name, std::int32_t chunks_per_rank) {
  const CsvTable table = read_headless_csv(path, /*finished=*/true, most_by_program);
  Schedule schedule{name, {static_cast<std::int32_t>(table.rows.size()), chunks_per_rank}, 0, {}};
  std::int32_t highest = no_microbatch;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    ActionList& list = schedule.ranks.emplace_back();
    const std::vector<std::string>& cells = table.rows[row].cells;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      const auto refuse = [&](const char* what) { refuse_cell(path, row, column, cells[column], what); };
      const std::optional<Action> action = parse_action(cells[column]);
      if (!action) refuse("is not an action; write stage, type and microbatch, as in 2F0 or 1B3");
      if (action->microbatch == std::numeric_limits<std::int32_t>::max()) refuse("has an impossible microbatch number");
      highest = std::max(highest, action->microbatch);
      list.push_back(*action);
    }
  }
  // Bounds table sizes by the file's cells: a stray large number must not allocate huge tables.
  std::size_t actions = 0;
  for (const ActionList& list : schedule.ranks) actions += list.size();
  if (highest == no_microbatch) throw InputError(path + ": no action in any row");
  if (static_cast<std::size_t>(highest) >= actions) {
    throw InputError(fmt::format(
        "{}: microbatch {} is named, but there are only {} actions; microbatches are numbered from 0 without gaps",
        path, highest, actions));
  }
  schedule.microbatches = highest + 1;
  refuse_sparse(path, schedule, actions);
  if (chunks_per_rank > 1) schedule.placement.kind = infer_placement(schedule);
  return schedule;
}

void refuse_sparse(const std::string& path, const Schedule& schedule, std::size_t actions) {
  constexpr std::int64_t fixed = 1024, per_action = 4;
  const std::int64_t stages = std::int64_t{schedule.placement.ranks} * schedule.placement.chunks_per_rank;
  if (stages <= (fixed + per_action * static_cast<std::int64_t>(actions)) / std::max(schedule.microbatches, 1)) return;
  throw InputError(fmt::format("{}: {} actions are too few for {} stages and {} microbatches; is the list whole?", path,
                               actions, stages, schedule.microbatches));
}

void refuse_cell(const std::string& path, std::size_t row, std::size_t column, const std::string& cell,
                 const std::string& what) {
  throw InputError(fmt::format("{}, row {}, column {}: \"{}\" {}", path, row + 1, column + 1, printable(cell), what));
}

Schedule compute_actions(Schedule schedule) {
  for (ActionList& list : schedule.ranks) {
    std::erase_if(list, [](const Action& action) { return !is_compute(action.type); });
  }
  return schedule;
}

Schedule schedule_from_csv(const std::string& path, const std::string& name, std::int32_t chunks_per_rank) {
  Schedule schedule = compute_actions(lists_from_csv(path, name, chunks_per_rank));
  verify_complete(schedule);
  return schedule;
}

}  // namespace plumbline
