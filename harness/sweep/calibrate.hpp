// SPDX-License-Identifier: BSD-3-Clause
// `plumbline calibrate`: measures the effect of equivalent changes on a run, and derives the limits of the mode
// calibrated.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/judge/limits/limits.hpp"
#include "harness/launch/stop_signals.hpp"
#include "harness/sweep/planned_run.hpp"

namespace plumbline {

struct CalibrateOptions {
  std::filesystem::path run_file;
  RunChanges changes = {};
  std::filesystem::path folder;
  std::int64_t null_runs = static_cast<std::int64_t>(judging::least_null_runs);
  std::string device = "cpu";  ///< of the reference and the perturbed runs; the float64 reference runs on the CPU
  std::optional<std::filesystem::path> accumulation;  ///< order file, for --accumulation
  std::filesystem::path trainers;                     ///< folder of plumbline-reference
  bool resume = false;
  std::string label = {};         ///< prefix of each run's name in the log
  std::string resume_words = {};  ///< advice on resuming after a stop; empty: the command line's
};

/// Lets the case start from the reference's initial parameters, and be judged within the limits, of the calibration in
/// this folder.
void start_from_calibration(PlannedCell& cell, const std::filesystem::path& folder);

/// Runs the reference, its float64 reference and the perturbed runs, one after the other, and writes
///   <folder>/reference/, <folder>/shadow/   records at level dump
///   <folder>/null/<n>.json                  errors of a perturbed run, whose record is removed after measurement
///   <folder>/candidate.toml                 the run file with the reference's start as its weights, at level dump
///   <folder>/calibration.json               written last
/// Prints a line to `log` when a run ends. Keeps finished runs if it is stopped; `resume` continues from there. Throws
/// InputError: bad run file, fewer than 20 perturbed runs, a folder in use; SystemError: stopped, a missing program.
judging::Calibration calibrate(const CalibrateOptions& options, StopSignals& signals, std::FILE* log);

/// A summary for users: errors, limits, next steps.
std::string calibration_text(const judging::Calibration& calibration, const std::filesystem::path& folder);

/// True if every perturbed run is within the limits made from all of them: limit_ceiling may exclude equivalent
/// changes.
bool null_runs_hold(const judging::Calibration& calibration);

}  // namespace plumbline
