// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/csv_import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "schedule/lowering.hpp"
#include "schedule/own_messages.hpp"
#include "schedule/schedule_csv.hpp"
#include "schedule/verifier.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// Actions of torch that have no effect here.
struct LeftOut {
  std::string_view word;
  bool of_microbatch = false;
  std::string_view reason;
};
constexpr std::string_view whole = "parameters are whole on their rank here", ended = "a step ends with its sends";
constexpr std::array<LeftOut, 6> left_out = {{{"UNSHARD", false, whole},
                                              {"RESHARD", false, whole},
                                              {"REDUCE_GRAD", false, whole},
                                              {"WAIT_REDUCE_GRAD", false, whole},
                                              {"WAIT_SEND_F", true, ended},
                                              {"WAIT_SEND_B", true, ended}}};
constexpr std::string_view compound_end = ")OVERLAP_F_B";

/// An action's text split into stage digits, type and microbatch digits.
std::string_view word_of(std::string_view text) {
  const std::size_t begin = text.find_first_not_of("0123456789");
  if (begin == std::string_view::npos) return {};
  const std::size_t end = text.find_last_not_of("0123456789");
  return text.substr(begin, end - begin + 1);
}

/// Null for other actions, and without the stage, or with or without a microbatch as it is not written.
const LeftOut* left_out_of(std::string_view text) {
  const std::string_view word = word_of(text);
  const auto* row = std::ranges::find(left_out, word, &LeftOut::word);
  const bool there = row != left_out.end() && text.front() != word.front();
  return there && text.ends_with(word) != row->of_microbatch ? row : nullptr;
}

/// Strips surrounding blanks, as torch's loader does for cells and parts of compound actions.
std::string_view stripped(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\v\f";
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Rows as torch reads them: blanks around cells are ignored, and the last line break may be missing.
CsvTable read_cells(const std::filesystem::path& path) {
  CsvTable table = read_headless_csv(path, /*finished=*/false);
  for (CsvRow& row : table.rows) {
    for (std::string& cell : row.cells) cell = std::string(stripped(cell));
  }
  return table;
}

/// The parts of a cell: one action, or those of a compound action. Null if a compound action is malformed.
std::optional<std::vector<std::string_view>> parts_of(std::string_view cell) {
  if (!cell.starts_with('(')) return std::vector{cell};
  if (!cell.ends_with(compound_end)) return std::nullopt;
  std::string_view inside = cell.substr(1, cell.size() - 1 - compound_end.size());
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = inside.find(';');
    parts.push_back(stripped(inside.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    inside.remove_prefix(end + 1);
  }
}

class Importer {
 public:
  explicit Importer(const std::filesystem::path& path) : path_(path), table_(read_cells(path)) {}

  ImportedSchedule run(std::optional<PlacementKind> placement) {
    for (row_ = 0; row_ < table_.rows.size(); ++row_) {
      result_.schedule.ranks.emplace_back();
      for (column_ = 0; column_ < table_.rows[row_].cells.size(); ++column_)
        read_cell(table_.rows[row_].cells[column_]);
    }
    for (const auto& [row, count] : ignored_) {
      result_.notes.push_back(fmt::format("{} {} ignored: {}", count, row->word, row->reason));
    }
    set_sizes(placement);
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(const std::string& cell, const std::string& what) const {
    refuse_cell(path_.string(), row_, column_, cell, what);
  }

  void read_cell(const std::string& cell) {
    if (cell.empty()) return;  // an explicit bubble has no effect
    if (const LeftOut* row = left_out_of(cell)) {
      ++ignored_[row];
      return;
    }
    const auto parts = parts_of(cell);
    const bool compound = cell.starts_with('(');
    if (!parts) refuse(cell, "is not a compound action; write it as in (0F7;7B3)OVERLAP_F_B");
    for (const std::string_view part : *parts) {
      const Action action = read_action(cell, part);
      if (compound && !is_compute(action.type)) {
        refuse(cell, "holds an action other than F, B, I and W; give it its own field");
      }
      result_.has_messages = result_.has_messages || is_communication(action.type);
      result_.schedule.ranks.back().push_back(action);
    }
  }

  Action read_action(const std::string& cell, std::string_view text) const {
    const std::optional<Action> action = parse_action(text);
    if (!action && word_of(text) == "BW") {
      refuse(cell, "is the full backward of older torch; write B for it, and I for its B");
    }
    if (!action) refuse(cell, "is not an action; write stage, type and microbatch, as in 2F0 or 1B3");
    return *action;
  }

  void set_sizes(std::optional<PlacementKind> placement) {
    Schedule& schedule = result_.schedule;
    std::size_t actions = 0;
    std::int32_t highest_stage = 0;
    for (const ActionList& list : schedule.ranks) {
      actions += list.size();
      for (const Action& action : list) highest_stage = std::max(highest_stage, action.stage);
    }
    if (actions == 0) throw InputError(path_.string() + ": no action in any row");
    // Bounds table sizes: a stray large number must not allocate huge tables.
    if (static_cast<std::size_t>(highest_stage) >= actions) {
      throw InputError(
          fmt::format("{}: stage {} is named, but there are only {} actions; stages are numbered from 0 without gaps",
                      path_.string(), highest_stage, actions));
    }
    std::map<std::int32_t, std::int32_t> forwards;  // by stage
    for (const ActionList& list : schedule.ranks) {
      for (const Action& action : list) forwards[action.stage] += action.type == ActionType::forward;
    }
    std::map<std::int32_t, std::int32_t> stages_with;  // by number of forwards
    for (const auto& [stage, count] : forwards) ++stages_with[count];
    const auto most = std::max_element(stages_with.begin(), stages_with.end(),
                                       [](const auto& a, const auto& b) { return a.second <= b.second; });
    schedule.microbatches = std::max(1, most->first);

    const auto ranks = static_cast<std::int32_t>(schedule.ranks.size());
    schedule.name = path_.stem().string();
    schedule.placement = {ranks, highest_stage / ranks + 1, PlacementKind::loop};
    refuse_sparse(path_.string(), schedule, actions);
    schedule.placement.kind = placement ? *placement : infer_placement(schedule);
    if (!placement) refuse_other_placement(schedule);
  }

  /// Reports stages placed unevenly or in an unsupported order, each whole on one rank, as a placement error instead of
  /// one finding per action.
  void refuse_other_placement(const Schedule& schedule) const {
    std::map<std::int32_t, std::size_t> rank_of;  // by stage
    bool other = false;
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
      for (const Action& action : schedule.ranks[rank]) {
        if (rank_of.emplace(action.stage, rank).first->second != rank) return;  // an action in another rank's list
        other = other || schedule.placement.rank_of(action.stage) != static_cast<std::int32_t>(rank);
      }
    }
    if (!other && rank_of.size() % schedule.ranks.size() == 0) return;
    std::string found;
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
      std::vector<std::int64_t> held;
      for (const auto& [stage, holder] : rank_of) {
        if (holder == rank) held.push_back(stage);
      }
      found += fmt::format("{}{} {}", rank > 0 ? "; on rank " : "", rank, held.empty() ? "none" : join(held, ", "));
    }
    throw InputError(
        fmt::format("{}: its stages are on rank {}. That placement is not supported: every rank holds as "
                    "many stages, stage s on rank s mod {}, or down the ranks and back up (a V)",
                    path_.string(), found, schedule.ranks.size()));
  }

  std::filesystem::path path_;
  CsvTable table_;
  ImportedSchedule result_;
  std::map<const LeftOut*, std::int64_t> ignored_;
  std::size_t row_ = 0;
  std::size_t column_ = 0;
};

}  // namespace

ImportedSchedule import_schedule(const std::filesystem::path& path, std::optional<PlacementKind> placement) {
  return Importer(path).run(placement);
}

std::vector<ListFinding> check_imported(const ImportedSchedule& imported, const std::string& transport) {
  const Schedule& schedule = imported.schedule;
  VerifyOptions options;
  const bool reduces = any_action(schedule, [](ActionType type) { return type == ActionType::reduce; });
  const bool steps = any_action(schedule, [](ActionType type) { return type == ActionType::step; });
  if (imported.has_messages || reduces || steps) {
    if (steps || reduces) options.tied = reduces;
    std::vector<ListFinding> findings = verify(schedule, options);
    if (!findings.empty()) return findings;
    Schedule whole = schedule;
    if (!steps) add_ending(whole, reduces);
    if (const auto own = find_own_messages(whole, reduces, transport)) findings.push_back(*own);
    return findings;
  }
  std::vector<ListFinding> findings = find_faults(schedule);
  return findings.empty() ? verify(lower(schedule, false), options) : findings;
}

std::string export_for_torch(const Schedule& schedule) {
  Schedule without_ending = schedule;
  for (ActionList& list : without_ending.ranks) {
    std::erase_if(list, [](const Action& action) { return is_ending(action.type); });
  }
  return to_csv(without_ending);
}

PlacementKind infer_placement(const Schedule& schedule) {
  const auto misplaced = [&](PlacementKind kind) {
    Placement placement = schedule.placement;
    placement.kind = kind;
    std::size_t count = 0;
    for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
      for (const Action& action : schedule.ranks[rank]) {
        const bool exists = action.stage < placement.stages();
        count += exists && placement.rank_of(action.stage) != static_cast<std::int32_t>(rank);
      }
    }
    return count;
  };
  return misplaced(PlacementKind::v) < misplaced(PlacementKind::loop) ? PlacementKind::v : PlacementKind::loop;
}

}  // namespace plumbline
