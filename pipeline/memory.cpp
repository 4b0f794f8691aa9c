// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/memory.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>

#include "pipeline/transport/group.hpp"
#include "support/error.hpp"
#include "support/host.hpp"
#include "support/machine_memory.hpp"
#include "training/run_description.hpp"

namespace plumbline {
namespace {

constexpr int most_ranks = 8;
/// The two communicators of a rank and its neighbor, as measured (docs/gpu.md): NCCL does not say it beforehand.
constexpr std::int64_t nccl_bytes_of_connection = (std::int64_t{6} << 30) / 5;

Json row_of(const Run& run, int ranks_of_each) {
  const int replicas = run.pipeline.replicas, world = replicas * ranks_of_each;
  const std::string ranks = (replicas > 1 ? std::to_string(replicas) + " x " : "") + std::to_string(ranks_of_each) +
                            (world == 1 ? " rank" : " ranks");
  try {
    const PipelinePlan plan = make_plan(run, world);
    std::vector<MemoryPlan> each;
    std::int64_t all = 0;
    for (int rank = 0; rank < world; ++rank) {
      each.push_back(memory_of(run, plan, rank));
      all = sum_of_sizes({all, each.back().total()});
    }
    return memory_row(ranks, *std::ranges::max_element(each, {}, &MemoryPlan::total), all);
  } catch (const InputError& error) {
    return {{"devices", ranks}, {"refusal", error.what()}};
  }
}

struct Machine {
  std::vector<int> ranks;
  std::int64_t free_bytes = std::numeric_limits<std::int64_t>::max();  ///< minimum over the ranks
};

std::string words_of(const std::string& name, const Machine& machine, std::size_t world) {
  if (machine.ranks.size() == world) return "this machine, for all " + std::to_string(world) + " ranks,";
  std::string words = "machine " + host_name(name) + ", for ranks";
  for (const int rank : machine.ranks) words += (rank == machine.ranks.front() ? " " : ", ") + std::to_string(rank);
  return words + ",";
}

}  // namespace

MemoryPlan plan_rank_memory(const Run& run, const BatchPlan& batches, const std::vector<UnitRange>& stages,
                            const std::vector<std::int32_t>& own, const ActionList& list) {
  const LlamaConfig& config = run.config;
  const TrainSettings& train = run.train;
  const c10::ScalarType dtype = computed_type(train);
  std::vector<UnitRange> units;
  for (const std::int32_t stage : own) units.push_back(stages.at(static_cast<std::size_t>(stage)));
  MemoryPlan plan = plan_state(run, units);

  std::int64_t live = 0;
  for (const Action& action : list) {
    const bool begins = action.type == ActionType::forward;
    const bool ends = action.type == ActionType::backward || action.type == ActionType::backward_weight;
    if (!begins && !ends) continue;
    const std::int64_t tokens = batches.padded_tokens(action.microbatch);
    const UnitRange stage = stages.at(static_cast<std::size_t>(action.stage));
    const std::int64_t rows = math_sequence(batches, action.microbatch, run.device, dtype);
    const std::int64_t bytes = plan_saved(config, stage, tokens, dtype, train.recompute, rows);
    const std::int64_t temporary = begins ? 0 : plan_backward(config, stage, tokens, train, rows);
    if (begins) live = sum_of_sizes({live, bytes});
    plan.activations = std::max(plan.activations, sum_of_sizes({live, temporary}));
    if (ends) live -= bytes;
  }
  return plan;
}

MemoryPlan memory_of(const Run& run, const PipelinePlan& plan, int rank) {
  const int here = plan.rank_in_pipeline(rank);
  MemoryPlan memory =
      plan_rank_memory(run, part_of_replica(run.batches, plan, plan.replica_of(rank)), plan.stages,
                       plan.schedule.placement.stages_on(here), plan.schedule.ranks.at(static_cast<std::size_t>(here)));
  if (run.pipeline.transport == "nccl") {
    const auto connections = connections_of(plan.schedule.placement, run.config.tied, plan.replicas);
    memory.communicators = nccl_bytes_of_connection * std::ranges::count_if(connections, [&](const auto& ranks) {
                             return std::ranges::count(ranks, rank) > 0;
                           });
  }
  return memory;
}

MemoryPlan memory_of(const Run& run, const PipelinePlan& plan, const std::vector<int>& ranks) {
  MemoryPlan all;
  for (const int rank : ranks) {
    const MemoryPlan one = memory_of(run, plan, rank);
    for (const auto part :
         {&MemoryPlan::parameters, &MemoryPlan::gradients, &MemoryPlan::optimizer, &MemoryPlan::activations,
          &MemoryPlan::communicators, &MemoryPlan::dump, &MemoryPlan::checkpoint}) {
      all.*part = sum_of_sizes({all.*part, one.*part});
    }
  }
  return all;
}

std::string memory_plan_text(const Run& run, const PipelinePlan& plan, int rank) {
  return "rank " + std::to_string(rank) + "'s plan is " + to_text(memory_of(run, plan, rank));
}

Json memory_table(const Run& run, int world) {
  const MemoryPlan reference = plan_one_device(run);
  Json table{memory_row("reference", reference, reference.total())};
  for (int ranks = 1; ranks <= most_ranks; ++ranks) table.push_back(row_of(run, ranks));
  const int asked = world / run.pipeline.replicas;
  if (asked > most_ranks) table.push_back(row_of(run, asked));
  return table;
}

std::string own_machine() {
  return host_identity() + " " + std::to_string(free_memory());
}

void require_free_memory(const std::vector<std::string>& reports, const Run& run, const PipelinePlan& plan) {
  std::map<std::string, Machine> machines;
  for (std::size_t rank = 0; rank < reports.size(); ++rank) {
    std::istringstream words(reports[rank]);
    std::string name;
    std::int64_t free_bytes = 0;
    words >> name >> free_bytes;
    Machine& machine = machines[name];
    machine.ranks.push_back(static_cast<int>(rank));
    machine.free_bytes = std::min(machine.free_bytes, free_bytes);
  }
  for (const auto& [name, machine] : machines) {
    require_free(memory_of(run, plan, machine.ranks), machine.free_bytes, words_of(name, machine, reports.size()));
  }
}

void require_free_memory_everywhere(RankGroup& group, const Run& run, const PipelinePlan& plan) {
  require_free_memory(group.gather(own_machine()), run, plan);  // gather returns nothing on other ranks
}

}  // namespace plumbline
