// SPDX-License-Identifier: BSD-3-Clause
// The plan of one case, as passed to the judge.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/request/request.hpp"
#include "record/launch_finding.hpp"

namespace plumbline {

/// The sweep file's settings for this case. They decide which checks apply and are required, before any table is read.
struct CellPlan {
  std::string id, run, model, schedule, optimizer;
  std::string variant;        ///< other distinguishing settings: "partition cost", "lengths 64x8"
  std::string reference;      ///< id of its reference
  std::string schedule_csv;   ///< expected bytes of the record's schedule.csv; empty = derived from the schedule's name
  std::int64_t world = 0;     ///< ranks of all replicas
  std::int64_t replicas = 1;  ///< copies of the pipeline
  std::vector<std::int64_t> balance;
  std::vector<std::int64_t>
      lengths;  ///< one per microbatch, if the sweep file sets them for this case; empty = the run file's
  std::vector<std::string> checks;          ///< selected checks; empty = all
  std::vector<std::string> accept_missing;  ///< claims that the user accepts where they were not compared in full
  bool clipping_must_act = false;
  bool bench = false;   ///< the data were chosen to detect every fault: what they do not cover is required, too
  bool repeat = false;  ///< run twice, for R0
  std::optional<std::filesystem::path>
      calibration;  ///< calibration.json of the comparison mode calibrated; nullopt = bits
  std::optional<Request> request, reference_request;  ///< requests of the candidate and of the reference
  std::string command;
  std::optional<LaunchFinding> launch;
  std::optional<LaunchFinding> repeat_launch;  ///< of the second run, for R0
  std::optional<LaunchFinding> reference_launch;
  /// The reference's extra run for this case, which replays the candidate's norms.
  std::optional<LaunchFinding> replay_launch;
};

/// True if the sweep file sets all lengths of this case to one value: then they need not vary.
inline bool asks_for_equal_lengths(const CellPlan& plan) {
  const auto& lengths = plan.lengths;
  return !lengths.empty() && std::ranges::count(lengths, lengths.front()) == std::ssize(lengths);
}

}  // namespace plumbline
