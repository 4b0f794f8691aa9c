#include "harness/sweep/process_base.hpp"

#include <algorithm>

#include "harness/sweep/smallest_run.hpp"
#include "record/json_keys.hpp"
#include "record/record.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/json.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t most_of_mpi = 256 << 20, most_of_mpi_a_rank = 8 << 20;

/// The rank that has most, as it wrote it itself and as the launcher saw it.
std::int64_t most_private_bytes(const fs::path& record, const LaunchFinding& finding) {
  std::int64_t most = 0;
  for (const std::int64_t bytes : finding.process_private_bytes) most = std::max(most, bytes);
  for (const RankRecord& rank : read_record(record).ranks) {
    for (const MemoryRow& row : rank.memory) most = std::max(most, row.process_private_bytes.value_or(0));
  }
  return most;
}

constexpr const char* base_name = "process_base.json";

}  // namespace

void keep_base(const fs::path& launch, const MeasuredBase& measured) {
  const auto& base = measured.base;
  write_json(launch / base_name, {{"rank_bytes", base ? Json(base->rank_bytes) : Json(nullptr)},
                                  {"reference_bytes", base ? Json(base->reference_bytes) : Json(nullptr)},
                                  {"why_not", measured.why_not}});
}

MeasuredBase kept_base(const fs::path& launch) {
  const fs::path file = launch / base_name;
  std::error_code missing;
  if (!fs::exists(file, missing)) return {std::nullopt, "the sweep kept none"};
  const Json json = read_json(file);
  const JsonKeys keys(file, json);
  MeasuredBase measured{std::nullopt, keys.text("why_not")};
  if (keys.has_value("rank_bytes")) {
    measured.base = ProcessBase{keys.integer("rank_bytes", 0), keys.integer("reference_bytes", 0)};
  }
  return measured;
}

const MeasuredBase& ProcessBases::of(const PlannedCell& cell, const SweepTrainers& trainers) {
  const std::lock_guard lock(mutex_);
  // Relative to one and the same place, so that runs on one text are of one kind.
  Hasher hasher;
  for (const auto& [name, text] : smallest_run(cell, "/")) hasher.update(name + "\n" + text);
  const std::string kind = hasher.hex().substr(0, 6);
  const std::pair key(kind, cell.plan.world);
  const auto found = known_.find(key);
  return found != known_.end() ? found->second : known_.emplace(key, measure(cell, kind, trainers)).first->second;
}

MeasuredBase ProcessBases::measure(const PlannedCell& cell, const std::string& kind,
                                   const SweepTrainers& trainers) const {
  const std::string id = "base-" + kind + "-w" + std::to_string(cell.plan.world), alone = "base-" + kind + "-reference";
  const auto run = [&](const std::string& name, auto start) {
    const auto kept = folder_.finished_launch(name);
    return measured(name, kept && kept->exit_code == 0 ? *kept : (trainers.*start)(cell, name, folder_.base(name)));
  };
  const Bytes ranks = run(id, &SweepTrainers::run_smallest);
  if (!ranks.why_not.empty()) return {std::nullopt, ranks.why_not};
  const Bytes one = run(alone, &SweepTrainers::run_smallest_reference);
  if (!one.why_not.empty()) return {std::nullopt, one.why_not};
  const std::int64_t of_mpi = most_of_mpi + cell.plan.world * most_of_mpi_a_rank;
  return {ProcessBase{std::min(ranks.most, one.most + of_mpi), one.most}, ""};
}

ProcessBases::Bytes ProcessBases::measured(const std::string& id, const LaunchFinding& finding) const {
  if (finding.exit_code != 0) return {0, "the run " + id + " to measure a base by failed: " + finding.words};
  try {
    const std::int64_t most = most_private_bytes(folder_.base(id), finding);
    return {most, most > 0 ? "" : "the run " + id + " to measure a base by does not tell its memory"};
  } catch (const InputError& error) {
    return {0, std::string("the run to measure a base by left no record: ") + error.what()};
  }
}

}  // namespace plumbline
