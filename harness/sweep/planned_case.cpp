// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/planned_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "harness/sweep/names.hpp"
#include "schedule/accumulation_order.hpp"
#include "schedule/uniform_layers.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::string lengths_text(const std::vector<std::vector<std::int64_t>>& lengths) {
  std::string text;
  for (const auto& row : lengths) text += shape_text(row) + ",";
  return text;
}

}  // namespace

void check_balance(const RunFacts& facts, std::int64_t world) {
  const auto& numbers = facts.partition.balance;
  if (numbers.empty()) return;
  const std::string balance = "balance " + join(numbers, "-");
  const auto stages = world * facts.chunks;
  if (std::ssize(numbers) != stages) {
    throw InputError(fmt::format("{} has {} stages, world size {} has {}; give one number for each stage", balance,
                                 numbers.size(), world, stages));
  }
  const auto sum = std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
  if (facts.layers && sum != *facts.layers) {
    throw InputError(fmt::format("{} adds up to {} layers, the model {} has {}", balance, sum, facts.config.string(),
                                 *facts.layers));
  }
}

std::optional<std::string> why_not(const std::string& schedule, std::int64_t world, std::int64_t microbatches,
                                   std::int32_t chunks) {
  try {
    make_schedule(schedule, static_cast<std::int32_t>(world), static_cast<std::int32_t>(microbatches), chunks);
    return std::nullopt;
  } catch (const InputError& error) {
    return error.what();
  }
}

RunnableSchedule schedule_of(const RunFacts& facts, const std::string& schedule, std::int64_t world) {
  if (facts.microbatches % facts.replicas != 0) {
    throw OtherSizes(fmt::format("replicas is {}, which does not divide the {} microbatches of a step", facts.replicas,
                                 facts.microbatches));
  }
  ScheduleRequest request;
  request.schedule = schedule;
  request.ranks = static_cast<std::int32_t>(world);
  request.microbatches = static_cast<std::int32_t>(std::max<std::int64_t>(facts.microbatches / facts.replicas, 1));
  request.chunks = facts.chunks;
  request.tied = facts.tied;
  request.transport = facts.transport;
  const auto& names = schedule_names();
  if (std::ranges::find(names, schedule) != names.end()) {
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

std::string accumulation_of(const RunFacts& facts, const Schedule& schedule) {
  const auto orders = accumulation_orders(schedule);
  const bool same_order = std::ranges::all_of(orders, [&](const auto& order) { return order == orders[0]; });
  const auto& balance = facts.partition.balance;
  if (!same_order && balance.empty() && facts.partition.rule == "cost") {
    throw InputError(
        fmt::format("the stages of {} sum gradients in different orders, and with partition = \"cost\" the layers of a "
                    "stage are not known in advance; give a balance, or partition = \"uniform\"",
                    schedule.name));
  }
  const std::int32_t stages = schedule.placement.stages();
  const auto layers = balance.empty() ? uniform_layers(facts.layers.value_or(0), stages) : balance;
  std::vector<std::vector<std::string>> units(static_cast<std::size_t>(stages));
  std::int64_t next = 0;
  units.front().push_back("embed_tokens");
  for (std::size_t stage = 0; stage < units.size(); ++stage) {
    for (const std::int64_t end = next + layers.at(stage); next < end; ++next) {
      units[stage].push_back("layers." + std::to_string(next));
    }
  }
  units.back().insert(units.back().end(), {"norm", "lm_head"});
  return accumulation_csv(schedule, units, static_cast<std::int32_t>(facts.replicas));
}

std::string training_id(const std::string& run, const RunChanges& changes) {
  std::string id = run;
  if (changes.optimizer && !id.ends_with("-" + *changes.optimizer)) id += "-" + *changes.optimizer;
  if (!changes.lengths.empty()) id += "-lengths-" + hash_hex(lengths_text(changes.lengths)).substr(0, 6);
  return id;
}

std::string schedule_name(const std::string& schedule) {
  return names_schedule_file(schedule) ? fs::path(schedule).filename().string() : schedule;
}

std::string variant_of(const ExtraCell& cell) {
  std::vector<std::string> parts;
  if (cell.changes.partition) parts.push_back("partition " + *cell.changes.partition);
  std::vector<std::string> rows;
  for (const auto& row : cell.changes.lengths) rows.push_back(shape_text(row));
  constexpr std::size_t most_named = 8;
  if (rows.size() > most_named) {
    const std::string hash = hash_hex(lengths_text(cell.changes.lengths)).substr(0, 6);
    parts.push_back(fmt::format("lengths of {} microbatches ({})", rows.size(), hash));
  } else if (!rows.empty()) {
    parts.push_back("lengths " + join(rows, " "));
  }
  if (cell.resumes) {
    parts.push_back(fmt::format("resumed after {} on {}{}", quantity(cell.resumes->steps, "step"),
                                quantity(cell.resumes->world_size, "rank"),
                                cell.resumes->schedule ? " under " + schedule_name(*cell.resumes->schedule) : ""));
  }
  return join(parts, ", ");
}

std::string own_name(const fs::path& run) {
  return part_of_id(name_in_run_file(run).value_or(run.stem().string()));
}

std::map<fs::path, std::string> names_of_runs(const SweepFile& sweep) {
  std::set<fs::path> runs(sweep.runs.begin(), sweep.runs.end());
  for (const auto& cell : sweep.cells) runs.insert(cell.run);
  std::map<fs::path, std::string> own;
  for (const auto& run : runs) own[run] = own_name(run);
  const auto name_of = [&own](const fs::path& run, int folders) {
    std::string name = own.at(run);
    fs::path folder = fs::absolute(run).parent_path();
    for (; folders > 0 && folder.has_filename(); --folders, folder = folder.parent_path()) {
      name = folder.filename().string() + "-" + name;
    }
    return name;
  };
  std::map<fs::path, std::string> names;
  for (const auto& run : runs) {
    constexpr int most_folders = 32;
    for (int folders = 0; folders < most_folders; ++folders) {
      names[run] = name_of(run, folders);
      const bool alone = std::ranges::none_of(
          runs, [&](const fs::path& other) { return other != run && name_of(other, folders) == names[run]; });
      if (alone) break;
    }
  }
  return names;
}

}  // namespace plumbline
