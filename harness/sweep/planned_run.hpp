// SPDX-License-Identifier: BSD-3-Clause
// The plan of a sweep: references, the cases that are compared with them, and the unsupported ones.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/judge.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {

struct RunFacts;

/// The inputs of a run (run_inputs.hpp): from name ("the data") to hash.
using RunInputs = std::map<std::string, std::string>;

/// A reference on one device, shared by all cases of the same training with the same order of summing gradients,
/// with any world size, schedule and partition.
struct PlannedReference {
  std::string id;
  std::filesystem::path run;
  RunChanges changes;
  std::string accumulation = {};  ///< CSV of unit and microbatch: the order of summing gradients; empty = ascending
  std::optional<PlannedCommand> command = {};  ///< a user's command; `run` is then the sweep file
  bool splits_backward = false;  ///< one of its cases in the sweep file splits the backward pass, selected or not
  std::optional<Request> request = {};         ///< set by prepare_sweep
  std::shared_ptr<const RunFacts> facts = {};  ///< of its run file; null for a user's command
  RunInputs inputs = {};                       ///< set by prepare_sweep
};

/// The first segment of a resumed case.
struct PlannedStart {
  std::int64_t steps = 0;  ///< after which it is stopped
  std::int64_t world = 0;  ///< of all replicas
  std::string schedule;    ///< a name, a CSV file's path, or by_the_reference
};

struct PlannedCell {
  CellPlan plan;  ///< `command` and `request` are set by prepare_sweep, the findings when it runs
  std::filesystem::path run;
  RunChanges changes;
  std::string schedule;       ///< a name, or a CSV file's path
  Placement placement = {};   ///< of stages on the ranks of one pipeline; plan.world may have several
  std::size_t reference = 0;  ///< index into SweepPlan::references
  std::optional<PlannedStart> resumes_from = {};
  std::optional<PlannedCommand> command = {};  ///< a user's command; `run` is then the sweep file
  RunInputs inputs = {};                       ///< set by prepare_sweep; includes its reference's
};

struct SweepPlan {
  std::vector<PlannedReference> references;
  std::vector<PlannedCell> cells;
  /// Cases of the matrix that the schedule does not support, "<id>: <reason, and what is supported>".
  std::vector<std::string> not_applicable;
};

}  // namespace plumbline
