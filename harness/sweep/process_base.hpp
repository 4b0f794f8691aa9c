// What the process of a rank takes whatever it trains: measured by a run that trains next to nothing, on the same data
// and the same number of ranks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "harness/sweep/planned_run.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "harness/sweep/sweep_trainers.hpp"

namespace plumbline {

struct MeasuredBase {
  std::optional<ProcessBase> base;
  std::string why_not;  ///< where it could not be measured
};

/// Written beside a cell's run, so that its records can be judged again by the same measure.
void keep_base(const std::filesystem::path& launch, const MeasuredBase& measured);
/// Nothing, and why, where the cell's sweep kept none. Throws InputError naming the file where it is not as keep_base
/// writes it.
MeasuredBase kept_base(const std::filesystem::path& launch);

/// Runs what it needs when it is asked for it, by whichever thread, once a world size and kind of run; an earlier sweep
/// in this folder may have done so.
class ProcessBases {
 public:
  explicit ProcessBases(const SweepFolder& folder) : folder_(folder) {}

  /// The ranks' at most the reference's and 256 MiB and 8 MiB a rank for MPI: a program that takes more whatever it
  /// trains is not to pass by its own measure. Throws SystemError as SweepTrainers::run does.
  const MeasuredBase& of(const PlannedCell& cell, const SweepTrainers& trainers);

 private:
  /// Of one run; nothing, and why, where it failed.
  struct Bytes {
    std::int64_t most = 0;
    std::string why_not;
  };
  MeasuredBase measure(const PlannedCell& cell, const std::string& kind, const SweepTrainers& trainers) const;
  Bytes measured(const std::string& id, const LaunchFinding& finding) const;

  const SweepFolder& folder_;
  std::mutex mutex_;  ///< cells that run side by side share what is measured
  std::map<std::pair<std::string, std::int64_t>, MeasuredBase> known_;  ///< by kind of run and world size
};

}  // namespace plumbline
