// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "harness/sweep/cell_patterns.hpp"
#include "harness/sweep/names.hpp"
#include "harness/sweep/planned_case.hpp"
#include "harness/sweep/run_commands.hpp"
#include "harness/sweep/run_facts.hpp"
#include "harness/sweep/run_size.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> ids_of(const SweepPlan& plan) {
  std::vector<std::string> ids;
  for (const auto& cell : plan.cells) ids.push_back(cell.plan.id);
  return ids;
}

/// A part of an id, which is a folder's name: the text itself if it is valid there, else its hash.
std::string as_part_of_id(const std::string& text) {
  constexpr std::size_t most_characters = 40;
  const bool fits = !text.empty() && text.size() <= most_characters && text.front() != '.' && text == part_of_id(text);
  return fits ? text : hash_hex(text).substr(0, 6);
}

class Planner {
 public:
  explicit Planner(const SweepFile& sweep) : sweep_(sweep), names_(names_of_runs(sweep)) {}

  SweepPlan plan() {
    if (sweep_.commands) {
      for (const auto& cell : sweep_.commands->cells) add(cell);
    } else {
      add_run_files();
    }
    mark_repeats();
    return plan_;
  }

 private:
  void add_run_files() {
    const auto optional_texts = [](const std::vector<std::string>& texts) {
      std::vector<std::optional<std::string>> options(texts.begin(), texts.end());
      if (options.empty()) options.emplace_back();
      return options;
    };
    const bool only_in_turn = sweep_.schedules.empty() && !sweep_.in_turn.empty();
    if (!only_in_turn) add_matrix(optional_texts(sweep_.optimizers), optional_texts(sweep_.schedules));
    add_in_turn();
    if (plan_.cells.empty() && !plan_.not_applicable.empty()) {
      throw InputError(sweep_.path.string() + ": no case of the matrix is possible: " + plan_.not_applicable.front());
    }
    for (const auto& cell : sweep_.cells) add(cell, Unfit::refused);
  }

  /// Read once for each run file and changes.
  const RunFacts& facts_of(const fs::path& run, const RunChanges& changes) { return *shared_facts_of(run, changes); }

  std::shared_ptr<const RunFacts> shared_facts_of(const fs::path& run, const RunChanges& changes) {
    for (const auto& [known_run, known_changes, facts] : facts_) {
      if (known_run == run && known_changes == changes) return facts;
    }
    return std::get<2>(
        facts_.emplace_back(run, changes, std::make_shared<const RunFacts>(read_run_facts(run, changes))));
  }

  using OptionalTexts = std::vector<std::optional<std::string>>;
  /// How to treat a schedule that does not support a case's sizes: skipped in a matrix, an error in an explicit case.
  enum class Unfit { not_applicable, refused };

  /// For all replicas and world sizes of the matrix.
  template <typename Visit>
  void for_each_size(Visit visit) const {
    std::vector<std::optional<std::int64_t>> replicas(sweep_.replicas.begin(), sweep_.replicas.end());
    if (replicas.empty()) replicas.emplace_back();
    for (const auto& copies : replicas) {
      for (const auto world : sweep_.world_sizes) {
        ExtraCell cell;
        cell.world_size = world;
        cell.changes.replicas = copies;
        visit(std::move(cell));
      }
    }
  }

  void add_matrix(const OptionalTexts& optimizers, const OptionalTexts& schedules) {
    for (const auto& run : sweep_.runs) {
      for (const auto& optimizer : optimizers) {
        for (const auto& schedule : schedules) {
          for_each_size([&](ExtraCell cell) {
            cell.run = run;
            cell.schedule = schedule;
            cell.changes.optimizer = optimizer;
            cell.where = sweep_.path.string() + ", run " + run.string();
            add(cell, Unfit::not_applicable);
          });
        }
      }
    }
  }

  /// Each schedule starts with the next run, so that schedules and world sizes are combined with all runs.
  void add_in_turn() {
    std::size_t turn = 0;
    for (const std::string& schedule : sweep_.in_turn) {
      std::size_t at = turn++;
      for_each_size([&](ExtraCell cell) {
        cell.run = sweep_.runs[at++ % sweep_.runs.size()];
        cell.schedule = schedule;
        cell.where = sweep_.path.string() + ", in_turn " + schedule;
        cell.changes.lengths = repeated_until_it_fits(cell);
        add(cell, Unfit::not_applicable);
      });
    }
  }

  /// Repeats the run's lengths until the schedule supports the number of microbatches; empty if no repetition is
  /// needed. Schedules that never fit are reported by `add`.
  std::vector<std::vector<std::int64_t>> repeated_until_it_fits(const ExtraCell& cell) {
    constexpr std::size_t most_repeats = 8;
    const RunFacts& facts = facts_of(cell.run, cell.changes);
    std::vector<std::vector<std::int64_t>> lengths;
    const auto chunks = facts.chunks > 0 ? facts.chunks : default_chunks(*cell.schedule);
    for (std::size_t repeats = 1; repeats <= most_repeats; ++repeats) {
      lengths.insert(lengths.end(), facts.lengths.begin(), facts.lengths.end());
      const std::int64_t each = std::ssize(lengths) / facts.replicas;
      if (std::ssize(lengths) % facts.replicas != 0 || why_not(*cell.schedule, cell.world_size, each, chunks)) continue;
      return repeats == 1 ? std::vector<std::vector<std::int64_t>>{} : lengths;
    }
    return {};
  }

  void add(ExtraCell wanted, Unfit unfit) {
    const std::string& run_name = names_.at(wanted.run);
    RunFacts facts = facts_of(wanted.run, wanted.changes);
    std::vector<std::int64_t> requested_lengths;
    for (const auto& row : wanted.changes.lengths) requested_lengths.push_back(std::ranges::max(row));
    // Lengths equal to the run file's do not change the training, but naming them means that they are intended.
    if (wanted.changes.lengths == facts_of(wanted.run, {}).lengths) wanted.changes.lengths.clear();
    const std::string schedule = wanted.schedule.value_or(facts.schedule);
    const bool from_file = names_schedule_file(schedule);
    const std::string name = schedule_name(schedule);
    PlannedCell cell;
    CellPlan& plan = cell.plan;
    plan.id = fmt::format("{}-{}{}-w{}", training_id(run_name, wanted.changes), name,
                          facts.replicas == 1 ? "" : fmt::format("-r{}", facts.replicas), wanted.world_size);
    if (wanted.changes.partition) plan.id += "-" + *wanted.changes.partition;
    if (!wanted.changes.balance.empty()) plan.id += "-balance-" + join(wanted.changes.balance, "-");
    const std::string first_schedule = wanted.resumes ? wanted.resumes->schedule.value_or(facts.schedule) : "";
    if (wanted.resumes) {
      plan.id += fmt::format("-resumed-at-{}-from-{}-w{}", wanted.resumes->steps, schedule_name(first_schedule),
                             wanted.resumes->world_size);
      const std::int64_t ranks = facts.replicas * wanted.resumes->world_size;
      cell.resumes_from = PlannedStart{wanted.resumes->steps, ranks, first_schedule};
    }
    RunnableSchedule runnable;
    std::string accumulation;
    try {
      if (wanted.resumes) check_first_segment(wanted, facts, schedule, first_schedule);
      runnable = schedule_of(facts, schedule, wanted.world_size);
      facts.chunks = runnable.compute.placement.chunks_per_rank;
      check_balance(facts, wanted.world_size);
      accumulation = accumulation_of(facts, runnable.compute);
    } catch (const OtherSizes& error) {
      if (unfit == Unfit::refused) throw InputError(wanted.where + ": " + error.what());
      plan_.not_applicable.push_back(plan.id + ": " + error.what());
      return;
    } catch (const InputError& error) {
      throw InputError(wanted.where + ": " + error.what());
    }
    need_new_id(wanted.where, plan.id, "remove one");
    cell.run = wanted.run;
    cell.changes = wanted.changes;
    cell.schedule = schedule;
    cell.placement = runnable.compute.placement;
    cell.reference = reference_of(wanted, accumulation);
    if (splits_backward(runnable.compute)) plan_.references[cell.reference].splits_backward = true;
    plan.reference = plan_.references[cell.reference].id;
    plan.variant = variant_of(wanted);
    plan.bench = sweep_.bench;
    plan.run = run_name == own_name(wanted.run) ? facts.name : run_name;  // distinguishes two runs of one name
    plan.model = facts.model;
    plan.schedule = name;
    if (from_file) plan.schedule_csv = runnable.csv();
    plan.optimizer = facts.optimizer;
    plan.world = facts.replicas * wanted.world_size;
    plan.replicas = facts.replicas;
    plan.balance = facts.partition.balance;
    plan.checks = sweep_.checks;
    plan.accept_missing = sweep_.accept_missing;
    plan.lengths = std::move(requested_lengths);
    // with other data or fewer steps, clipping acts in other steps than those that the run's limit was chosen for
    const bool whole_run = wanted.changes.lengths.empty() && !wanted.resumes;
    const bool in_matrix = sweep_.runs.empty() || std::ranges::count(sweep_.runs, wanted.run) > 0;
    plan.clipping_must_act = sweep_.clipping && in_matrix && whole_run;
    plan_.cells.push_back(std::move(cell));
  }

  /// A user's commands.
  void add(const CommandCell& wanted) {
    std::string id;
    std::vector<std::string> variant;
    for (const auto& name : wanted.own) {
      id += fmt::format("{}-{}-", name, as_part_of_id(wanted.values.at(name)));
      variant.push_back(name + " " + wanted.values.at(name));
    }
    if (wanted.schedule) id += as_part_of_id(*wanted.schedule) + "-";
    PlannedCell cell;
    CellPlan& plan = cell.plan;
    plan.id = fmt::format("{}w{}", id, wanted.world_size);
    need_new_id(wanted.where, plan.id, "remove one, or give the two different values");
    cell.run = sweep_.path;
    cell.schedule = plan.schedule = wanted.schedule.value_or("");
    cell.command = planned_candidate(wanted, *sweep_.commands);
    need_program(wanted, *cell.command);
    cell.reference = reference_of(wanted);
    plan.reference = plan_.references[cell.reference].id;
    plan.run = plan.model = sweep_.name;
    plan.variant = join(variant, ", ");
    plan.world = wanted.world_size;
    plan.checks = sweep_.checks;
    plan.accept_missing = sweep_.accept_missing;
    plan_.cells.push_back(std::move(cell));
  }

  void need_program(const CommandCell& cell, const PlannedCommand& command) const {
    try {
      program_of(command, launcher_words(sweep_.launcher, command.ranks));
    } catch (const InputError& error) {
      throw InputError(
          fmt::format("{}, its {}: {}", cell.where, command.is_candidate ? "candidate" : "reference", error.what()));
    }
  }

  /// Cases with equal reference commands share the reference. Its id names a case by values of its command that differ
  /// between cases.
  std::size_t reference_of(const CommandCell& wanted) {
    const PlannedCommand command = planned_reference(wanted, *sweep_.commands);
    const std::string identity = identity_of(command);
    for (std::size_t i = 0; i < plan_.references.size(); ++i) {
      if (identity_of(*plan_.references[i].command) == identity) return i;
    }
    need_program(wanted, command);
    std::string id = sweep_.id;
    for (const auto& name : wanted.own) {
      if (uses_placeholder(command, name)) id += fmt::format("-{}-{}", name, as_part_of_id(wanted.values.at(name)));
    }
    if (std::ranges::find(plan_.references, id, &PlannedReference::id) != plan_.references.end())
      id += "-" + hash_hex(identity).substr(0, 6);
    plan_.references.push_back({id, sweep_.path, {}, {}, command});
    return plan_.references.size() - 1;
  }

  void need_new_id(const std::string& where, const std::string& id, const char* advice) {
    if (ids_.insert(id).second) return;
    throw InputError(fmt::format("{}: the case {} is in the sweep twice; {}", where, id, advice));
  }

  /// One reference serves both segments of a resumed run, so that both sum in its order.
  static void check_first_segment(const ExtraCell& wanted, RunFacts facts, const std::string& schedule,
                                  const std::string& first_schedule) {
    if (wanted.resumes->steps >= facts.steps)
      throw InputError(fmt::format("resume_at = {}, but the run makes {} steps: none is left after the resume",
                                   wanted.resumes->steps, facts.steps));
    const auto order_of = [&](const std::string& name, std::int64_t world) -> std::string {
      if (name == by_the_reference) return "";  // ascending
      const RunnableSchedule part = schedule_of(facts, name, world);
      RunFacts of_part = facts;
      of_part.chunks = part.compute.placement.chunks_per_rank;
      check_balance(of_part, world);
      return accumulation_of(of_part, part.compute);
    };
    if (order_of(schedule, wanted.world_size) != order_of(first_schedule, wanted.resumes->world_size))
      throw InputError(
          "the two parts of the run sum gradients in different orders, which one reference cannot reproduce; use other "
          "schedules");
  }

  std::size_t reference_of(const ExtraCell& wanted, const std::string& accumulation) {
    std::string id = training_id(names_.at(wanted.run), wanted.changes);
    if (!accumulation.empty()) id += "-order-" + hash_hex(accumulation).substr(0, 6);
    const auto found = std::ranges::find(plan_.references, id, &PlannedReference::id);
    if (found != plan_.references.end()) return static_cast<std::size_t>(found - plan_.references.begin());
    RunChanges changes;
    changes.optimizer = wanted.changes.optimizer;
    changes.lengths = wanted.changes.lengths;
    plan_.references.push_back({id, wanted.run, changes, accumulation});
    plan_.references.back().facts = shared_facts_of(wanted.run, changes);
    return plan_.references.size() - 1;
  }

  void mark_repeats() {
    for (const auto& id : sweep_.repeat) {
      const auto found = std::ranges::find_if(plan_.cells, [&](const PlannedCell& cell) { return cell.plan.id == id; });
      if (found == plan_.cells.end()) refuse_unknown_cell(sweep_.path.string() + ", key repeat", id, ids_of(plan_));
      found->plan.repeat = true;
    }
  }

  const SweepFile& sweep_;
  SweepPlan plan_;
  std::set<std::string> ids_;
  std::map<fs::path, std::string> names_;  ///< names of run files in ids
  std::vector<std::tuple<fs::path, RunChanges, std::shared_ptr<const RunFacts>>> facts_;
};

/// The plan's cases with these ids, and their references.
SweepPlan with_cells(const SweepPlan& plan, const std::vector<std::string>& ids) {
  SweepPlan selected;
  std::map<std::size_t, std::size_t> place;  // index of a reference, from the whole plan to the selection
  for (const auto& cell : plan.cells) {
    if (std::ranges::find(ids, cell.plan.id) == ids.end()) continue;
    const auto [found, fresh] = place.emplace(cell.reference, selected.references.size());
    if (fresh) selected.references.push_back(plan.references[cell.reference]);
    selected.cells.push_back(cell);
    selected.cells.back().reference = found->second;
  }
  return selected;
}

}  // namespace

SweepPlan make_plan(const SweepFile& sweep) {
  return Planner(sweep).plan();
}

SweepPlan select_shard(const SweepPlan& plan, const Shard& shard) {
  const auto all = ids_of(plan);
  std::vector<std::string> ids;
  for (auto at = static_cast<std::size_t>(shard.number - 1); at < all.size(); at += static_cast<std::size_t>(shard.of))
    ids.push_back(all[at]);
  if (ids.empty())
    throw InputError(
        fmt::format("--shard {}/{}: is empty; the sweep has {} cases", shard.number, shard.of, all.size()));
  return with_cells(plan, ids);
}

SweepPlan select_cells(const SweepPlan& plan, const std::vector<std::string>& wanted) {
  return with_cells(plan, cells_named(wanted, ids_of(plan)));
}

}  // namespace plumbline
