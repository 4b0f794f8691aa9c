// SPDX-License-Identifier: BSD-3-Clause
#include "pipeline/memory_table.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "pipeline/pipeline_plan.hpp"
#include "pipeline/rank_memory.hpp"
#include "support/error.hpp"
#include "support/machine_memory.hpp"

namespace plumbline {
namespace {

constexpr int most_ranks = 8;

std::string line(const std::array<std::string, 7>& cells) {
  std::array<char, 160> text{};
  std::snprintf(text.data(), text.size(), "%-11s %9s %10s %9s %9s %11s %9s\n", cells[0].c_str(), cells[1].c_str(),
                cells[2].c_str(), cells[3].c_str(), cells[4].c_str(), cells[5].c_str(), cells[6].c_str());
  return text.data();
}

std::string line(const std::string& ranks, const MemoryPlan& largest, std::int64_t all) {
  return line({ranks, bytes_text(largest.total()), bytes_text(largest.parameters), bytes_text(largest.gradients),
               bytes_text(largest.optimizer), bytes_text(largest.activations), bytes_text(all)});
}

std::string line_of(const TrainingRun& training, int ranks_of_each) {
  const int replicas = training.run.pipeline.replicas, world = replicas * ranks_of_each;
  const std::string ranks = (replicas > 1 ? std::to_string(replicas) + " x " : "") + std::to_string(ranks_of_each) +
                            (world == 1 ? " rank" : " ranks");
  try {
    const PipelinePlan plan = make_plan(training, world);
    std::vector<MemoryPlan> each;
    std::int64_t all = 0;
    for (int rank = 0; rank < world; ++rank) {
      each.push_back(memory_of(training, plan, rank));
      all = sum_of_sizes({all, each.back().total()});
    }
    return line(ranks, *std::ranges::max_element(each, {}, &MemoryPlan::total), all);
  } catch (const InputError& error) {
    return ranks + ": " + error.what() + "\n";
  }
}

}  // namespace

std::string memory_table(const TrainingRun& training) {
  std::string table = "Lower bounds, for the rank that needs the most (schedule " + training.run.pipeline.schedule +
                      ", precision " + training.run.train.dtype + ", recompute " +
                      to_text(training.run.train.recompute) +
                      (training.run.record_level == RecordLevel::dump ? ", record level dump" : "") + "):\n";
  table += line({"", "in all", "parameters", "gradients", "optimizer", "activations", "all ranks"});
  const MemoryPlan reference = plan_one_device(training.config, training.plan, training.run);
  table += line("reference", reference, reference.total());
  for (int world = 1; world <= most_ranks; ++world) table += line_of(training, world);
  return table + "Free on this machine: " + bytes_text(free_memory()) +
         ". In addition a rank needs memory for LibTorch, MPI and running kernels.\n";
}

}  // namespace plumbline
