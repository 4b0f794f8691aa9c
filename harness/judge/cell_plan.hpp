// SPDX-License-Identifier: BSD-3-Clause
// What was asked of one cell, as the judge is told it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/request/request.hpp"
#include "record/launch_finding.hpp"

namespace plumbline {

/// What the sweep file asked of this cell: decides what applies and what is required, before any table is read.
struct CellPlan {
  std::string id, run, model, schedule, optimizer;
  std::string variant;    ///< what else sets it apart: "partition cost", "lengths 64x8"
  std::string reference;  ///< id of the reference that it is compared with
  std::string
      schedule_csv;  ///< the bytes that the record's schedule.csv must have; empty = the schedule's name decides
  std::int64_t world = 0;
  std::vector<std::int64_t> balance;
  std::vector<std::int64_t>
      lengths;  ///< one per microbatch, when the sweep file sets them for this cell; empty = the run file's
  std::vector<std::string> checks;  ///< names asked for; empty = all
  bool clipping_must_act = false;
  bool bench = false;   ///< the data were chosen to let every fault be seen: what they do not show is required too
  bool repeat = false;  ///< R0 asked for
  std::optional<std::filesystem::path> calibration;   ///< calibration.json: the calibrated tier; absent = bits
  std::optional<Request> request, reference_request;  ///< what was asked of the candidate and of the reference
  std::string command;
  std::optional<LaunchFinding> launch;
  std::optional<LaunchFinding> repeat_launch;  ///< of the second run, for R0
  std::optional<LaunchFinding> reference_launch;
};

/// Whether the sweep file sets this cell's lengths, and all alike: nothing is then demanded of how they differ.
bool asks_for_equal_lengths(const CellPlan& plan);

}  // namespace plumbline
