// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_plan.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>

#include "harness/sweep/case_names.hpp"
#include "harness/sweep/cell_patterns.hpp"
#include "harness/sweep/command_plan.hpp"
#include "harness/sweep/run_size.hpp"
#include "harness/sweep/run_variant.hpp"
#include "schedule/accumulation_order.hpp"
#include "schedule/runnable.hpp"
#include "schedule/uniform_layers.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t largest_ranks = largest_world * largest_world;

std::int64_t all_ranks(const ExtraCell& cell) {
  return cell.world_size * read_run_facts(cell.run, cell.changes).replicas;
}

/// Layers of the model, or halves of them.
std::int64_t layers_of(const RunFacts& facts) {
  return facts.layers.value_or(0) * (facts.halves ? 2 : 1);
}

void check_balance(const RunFacts& facts, std::int64_t world) {
  if (facts.balance.empty()) return;
  const std::string balance = "balance " + numbers_text(facts.balance);
  const auto stages = world * facts.chunks;
  if (static_cast<std::int64_t>(facts.balance.size()) != stages) {
    throw InputError(balance + " has " + std::to_string(facts.balance.size()) + " stages, world size " +
                     std::to_string(world) + " has " + std::to_string(stages) + "; give one number for each stage");
  }
  const auto sum = std::accumulate(facts.balance.begin(), facts.balance.end(), std::int64_t{0});
  if (facts.layers && sum != layers_of(facts)) {
    const std::string layers = facts.halves ? " half layers" : " layers";
    throw InputError(balance + " adds up to " + std::to_string(sum) + layers + ", the model " + facts.config.string() +
                     " has " + std::to_string(layers_of(facts)) +
                     (facts.halves && sum == *facts.layers ? "; write twice each number of whole layers" : ""));
  }
}

/// The reason why the schedule does not support these sizes, with supported ones; nullopt if it does.
std::optional<std::string> why_not(const std::string& schedule, std::int64_t world, std::int64_t microbatches,
                                   std::int32_t chunks) {
  try {
    make_schedule(schedule, static_cast<std::int32_t>(world), static_cast<std::int32_t>(microbatches), chunks);
    return std::nullopt;
  } catch (const InputError& error) {
    return error.what();
  }
}

/// The case's lists, verified as in the trainer. Throws OtherSizes if the schedule does not support the case's sizes,
/// InputError for a file that is invalid for any.
RunnableSchedule schedule_of(const RunFacts& facts, const std::string& schedule, std::int64_t world) {
  if (facts.microbatches % facts.replicas != 0) {
    throw OtherSizes("replicas is " + std::to_string(facts.replicas) + ", which does not divide the " +
                     std::to_string(facts.microbatches) + " microbatches of a step");
  }
  ScheduleRequest request;
  request.schedule = schedule;
  if (takes_dialect_of(facts, schedule)) {
    request.dialect = parse_csv_dialect(*facts.schedule_dialect);
  }
  request.dialect_option = "plumbline schedule convert --dialect, or pipeline.schedule_dialect in the run file:";
  request.ranks = static_cast<std::int32_t>(world);
  request.microbatches = static_cast<std::int32_t>(std::max<std::int64_t>(facts.microbatches / facts.replicas, 1));
  request.chunks = facts.chunks;
  request.tied = facts.tied;
  const std::string transport = facts.transport == "threads" ? "mpi" : facts.transport;  // as in pipeline_run
  request.model = model_of_transport(transport).value_or(ExecutionModel::blocking);
  const auto& names = schedule_names();
  if (std::find(names.begin(), names.end(), schedule) != names.end()) {
    const auto chunks = facts.chunks > 0 ? facts.chunks : default_chunks(schedule);
    if (const auto reason = why_not(schedule, world, request.microbatches, chunks)) throw OtherSizes(*reason);
  }
  return make_runnable(request);
}

bool splits_backward(const Schedule& schedule) {
  return std::ranges::any_of(schedule.ranks, [](const ActionList& list) {
    return std::ranges::any_of(list, [](const Action& each) { return each.type == ActionType::backward_input; });
  });
}

/// The reference's order of sums; empty for ascending. Throws InputError if it depends on the layers of each stage,
/// which only the trainer knows.
std::string accumulation_of(const RunFacts& facts, const Schedule& schedule) {
  const auto orders = accumulation_orders(schedule);
  const bool alike = std::all_of(orders.begin(), orders.end(), [&](const auto& order) { return order == orders[0]; });
  if (!alike && facts.balance.empty() && facts.partition == "cost") {
    throw InputError(
        "the stages of " + schedule.name + " sum gradients in their own orders, and with partition = " +
        "\"cost\" the layers of a stage are not known in advance; give a balance, or partition = " + "\"uniform\"");
  }
  const std::int32_t stages = schedule.placement.stages();
  const auto layers = facts.balance.empty() ? uniform_layers(layers_of(facts), stages) : facts.balance;
  std::vector<std::vector<std::string>> units(static_cast<std::size_t>(stages));
  std::int64_t next = 0;
  units.front().push_back("embed_tokens");
  for (std::size_t stage = 0; stage < units.size(); ++stage) {
    for (const std::int64_t end = next + layers.at(stage); next < end; ++next) {
      const std::string half = next % 2 == 0 ? ".attention" : ".mlp";
      units[stage].push_back(facts.halves ? "layers." + std::to_string(next / 2) + half
                                          : "layers." + std::to_string(next));
    }
  }
  units.back().insert(units.back().end(), {"norm", "lm_head"});
  return accumulation_csv(schedule, units, static_cast<std::int32_t>(facts.replicas));
}

std::vector<std::string> ids_of(const SweepPlan& plan) {
  std::vector<std::string> ids;
  for (const auto& cell : plan.cells) ids.push_back(cell.plan.id);
  return ids;
}

class Planner {
 public:
  explicit Planner(const SweepFile& sweep) : sweep_(sweep), names_(names_of_runs(sweep)) {}

  SweepPlan plan() {
    if (sweep_.commands) {
      plan_ = plan_of_commands(sweep_);
      mark_repeats();
      return plan_;
    }
    const auto optional_texts = [](const std::vector<std::string>& texts) {
      std::vector<std::optional<std::string>> options(texts.begin(), texts.end());
      if (options.empty()) options.emplace_back();
      return options;
    };
    const bool only_in_turn = sweep_.schedules.empty() && !sweep_.in_turn.empty();
    for (const auto& granularity : optional_texts(sweep_.granularities)) {
      if (!only_in_turn) add_matrix(optional_texts(sweep_.optimizers), optional_texts(sweep_.schedules), granularity);
      add_in_turn(granularity);
    }
    if (plan_.cells.empty() && !plan_.not_applicable.empty()) {
      throw InputError(sweep_.path.string() + ": no case of the matrix is possible: " + plan_.not_applicable.front());
    }
    for (const auto& cell : sweep_.cells) add(cell, Unfit::refused);
    if (sweep_.audit && !sweep_.calibrated) add_audited();  // cases in the mode calibrated are always at level dump
    mark_repeats();
    return plan_;
  }

 private:
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

  void add_matrix(const OptionalTexts& optimizers, const OptionalTexts& schedules,
                  const std::optional<std::string>& granularity) {
    for (const auto& run : sweep_.runs) {
      for (const auto& optimizer : optimizers) {
        for (const auto& schedule : schedules) {
          for_each_size([&](ExtraCell cell) {
            cell.run = run;
            cell.schedule = schedule;
            cell.changes.optimizer = optimizer;
            cell.changes.granularity = granularity;
            cell.where = sweep_.path.string() + ", run " + run.string();
            add(cell, Unfit::not_applicable);
          });
        }
      }
    }
  }

  /// Each schedule starts with the next run, so that schedules and world sizes are combined with all runs.
  void add_in_turn(const std::optional<std::string>& granularity) {
    std::size_t turn = 0;
    for (const std::string& schedule : sweep_.in_turn) {
      std::size_t at = turn++;
      for_each_size([&](ExtraCell cell) {
        cell.run = sweep_.runs[at++ % sweep_.runs.size()];
        cell.schedule = schedule;
        cell.where = sweep_.path.string() + ", in_turn " + schedule;
        cell.changes.lengths = repeated_until_it_fits(cell);
        cell.changes.granularity = granularity;
        add(cell, Unfit::not_applicable);
      });
    }
  }

  /// Repeats the run's lengths until the schedule supports the number of microbatches; empty if no repetition is
  /// needed. Schedules that never fit are reported by `add`.
  static std::vector<std::vector<std::int64_t>> repeated_until_it_fits(const ExtraCell& cell) {
    constexpr std::size_t most_repeats = 8;
    const RunFacts facts = read_run_facts(cell.run, cell.changes);
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

  /// Adds, for each model and optimiser, the first case on the fewest ranks above one at level dump.
  void add_audited() {
    std::vector<std::string> kinds;
    std::map<std::string, ExtraCell> smallest;
    for (const auto& cell : wanted_) {
      if (cell.resumes) continue;  // its record has only a part of a training
      const RunFacts facts = read_run_facts(cell.run, cell.changes);
      const std::string kind = facts.config.string() + " " + facts.optimizer + " " + facts.dtype;
      const auto [known, fresh] = smallest.emplace(kind, cell);
      if (fresh) kinds.push_back(kind);
      const auto ranks = [](const ExtraCell& each) { return all_ranks(each) > 1 ? all_ranks(each) : largest_ranks; };
      if (ranks(cell) < ranks(known->second)) known->second = cell;
    }
    for (const auto& kind : kinds) add_audited(smallest.at(kind));
  }

  void add_audited(ExtraCell cell) {
    constexpr double most_bytes = 1 << 30;
    cell.changes.dump = true;
    cell.where = sweep_.path.string() + ", key audit";
    const std::string training = training_id(names_.at(cell.run), cell.changes);
    const auto not_audited = [&](const std::string& why) {
      plan_.not_applicable.push_back(training + ": its values are not recomputed: " + why);
    };
    if (all_ranks(cell) == 1) return not_audited("no case of this model has more than one rank");
    const double bytes =
        2 * dump_bytes(run_size(sweep_, {training, cell.run, cell.changes}));  // including the reference's
    if (bytes > most_bytes) {
      char size[32];
      std::snprintf(size, sizeof size, "%.1f GiB", bytes / most_bytes);
      return not_audited(std::string("its dumps and its reference's would take about ") + size +
                         "; the limit is 1 GiB");
    }
    add(std::move(cell), Unfit::refused);
  }

  void add(ExtraCell wanted, Unfit unfit) {
    const ExtraCell as_wanted = wanted;
    const std::string& run_name = names_.at(wanted.run);
    RunFacts facts = read_run_facts(wanted.run, wanted.changes);
    std::vector<std::int64_t> lengths_asked_for;
    for (const auto& row : wanted.changes.lengths) lengths_asked_for.push_back(std::ranges::max(row));
    // Lengths equal to the run file's do not change the training, but naming them means that they are intended.
    if (wanted.changes.lengths == read_run_facts(wanted.run, {}).lengths) wanted.changes.lengths.clear();
    const std::string schedule = wanted.schedule.value_or(facts.schedule);
    const bool from_file = names_schedule_file(schedule);
    const std::string name = schedule_name(schedule);
    PlannedCell cell;
    CellPlan& plan = cell.plan;
    const std::string replicas = facts.replicas == 1 ? "" : "-r" + std::to_string(facts.replicas);
    plan.id = training_id(run_name, wanted.changes) + "-" + name + replicas + "-w" + std::to_string(wanted.world_size);
    if (wanted.changes.partition) plan.id += "-" + *wanted.changes.partition;
    if (!wanted.changes.balance.empty()) plan.id += "-balance-" + numbers_text(wanted.changes.balance);
    const std::string first_schedule = wanted.resumes ? wanted.resumes->schedule.value_or(facts.schedule) : "";
    if (wanted.resumes) {
      plan.id += "-resumed-at-" + std::to_string(wanted.resumes->steps) + "-from-" + schedule_name(first_schedule) +
                 "-w" + std::to_string(wanted.resumes->world_size);
      const std::int64_t ranks = facts.replicas * wanted.resumes->world_size;
      cell.goes_on_with = PlannedStart{wanted.resumes->steps, ranks, first_schedule};
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
    if (!ids_.insert(plan.id).second) {
      throw InputError(wanted.where + ": the case " + plan.id + " is in the sweep twice; remove one");
    }
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
    plan.balance = facts.balance;
    plan.checks = sweep_.checks;
    plan.lengths = std::move(lengths_asked_for);
    // with other data or fewer steps, clipping acts in other steps than those that the run's limit was chosen for
    const bool whole_run = wanted.changes.lengths.empty() && !wanted.resumes;
    plan.clipping_must_act = sweep_.clipping && is_in_matrix(wanted.run) && whole_run;
    plan_.cells.push_back(std::move(cell));
    wanted_.push_back(as_wanted);
  }

  /// One reference serves both segments of a resumed run, so that both sum in its order.
  static void check_first_segment(const ExtraCell& wanted, RunFacts facts, const std::string& schedule,
                                  const std::string& first_schedule) {
    if (wanted.resumes->steps >= facts.steps)
      throw InputError("resume_at = " + std::to_string(wanted.resumes->steps) + ", and the run makes " +
                       std::to_string(facts.steps) + " steps: none is left after the resume");
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
          "the two segments of the run sum gradients in different orders, so no reference has the "
          "bits of both; use other schedules");
  }

  bool is_in_matrix(const fs::path& run) const {
    return sweep_.runs.empty() || std::find(sweep_.runs.begin(), sweep_.runs.end(), run) != sweep_.runs.end();
  }

  std::size_t reference_of(const ExtraCell& wanted, const std::string& accumulation) {
    std::string id = training_id(names_.at(wanted.run), wanted.changes);
    if (!accumulation.empty()) id += "-order-" + hash_hex(accumulation).substr(0, 6);
    const auto found = std::find_if(plan_.references.begin(), plan_.references.end(),
                                    [&](const PlannedReference& reference) { return reference.id == id; });
    if (found != plan_.references.end()) return static_cast<std::size_t>(found - plan_.references.begin());
    RunChanges changes;
    changes.optimizer = wanted.changes.optimizer;
    changes.granularity = wanted.changes.granularity;
    changes.lengths = wanted.changes.lengths;
    changes.dump = wanted.changes.dump;
    plan_.references.push_back({id, wanted.run, changes, accumulation});
    return plan_.references.size() - 1;
  }

  void mark_repeats() {
    for (const auto& id : sweep_.repeat) {
      const auto found = std::find_if(plan_.cells.begin(), plan_.cells.end(),
                                      [&](const PlannedCell& cell) { return cell.plan.id == id; });
      if (found == plan_.cells.end()) refuse_unknown_cell(sweep_.path.string() + ", key repeat", id, ids_of(plan_));
      found->plan.repeat = true;
    }
  }

  const SweepFile& sweep_;
  SweepPlan plan_;
  std::set<std::string> ids_;
  std::map<fs::path, std::string> names_;  ///< names of run files in ids
  std::vector<ExtraCell> wanted_;          ///< for each case of the plan
};

/// The plan's cases with these ids, and their references.
SweepPlan with_cells(const SweepPlan& plan, const std::vector<std::string>& ids) {
  SweepPlan selected;
  std::map<std::size_t, std::size_t> place;  // index of a reference, from the whole plan to the selection
  for (const auto& cell : plan.cells) {
    if (std::find(ids.begin(), ids.end(), cell.plan.id) == ids.end()) continue;
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
    throw InputError("--shard " + std::to_string(shard.number) + "/" + std::to_string(shard.of) +
                     ": is empty; the sweep has " + std::to_string(all.size()) + " cases");
  return with_cells(plan, ids);
}

SweepPlan select_cells(const SweepPlan& plan, const std::vector<std::string>& wanted) {
  return with_cells(plan, cells_named(wanted, ids_of(plan)));
}

}  // namespace plumbline
