// SPDX-License-Identifier: BSD-3-Clause
// `plumbline calibrate`: what harmless changes do to a run, measured, and from that the limits of the calibrated tier.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>

#include "harness/judge/limits/limits.hpp"
#include "harness/launch/stop_signals.hpp"
#include "harness/sweep/sweep_file.hpp"

namespace plumbline {

struct CalibrateOptions {
  std::filesystem::path run_file;
  RunChanges changes = {};
  std::filesystem::path folder;
  std::int64_t null_runs = static_cast<std::int64_t>(judging::least_null_runs);
  std::string device = "cpu";  ///< of the reference and the perturbed ones; the shadow is always computed on the CPU
  std::optional<std::filesystem::path> accumulation;  ///< order file, for --accumulation
  std::filesystem::path trainers;                     ///< folder of plumbline-reference
  bool resume = false;
  std::string label = {};         ///< stands before each run's name in the log
  std::string resume_words = {};  ///< how to go on when stopped; empty: as the command line does
};

/// The reference's start, which a candidate begins from.
std::filesystem::path calibration_start(const std::filesystem::path& folder);

/// Runs the reference, its float64 shadow and the perturbed references, one after the other, and writes
///   <folder>/reference/, <folder>/shadow/   records at level dump
///   <folder>/null/<n>.json                  errors of a perturbed run, whose record is removed once it is measured
///   <folder>/candidate.toml                 the run file with the reference's start as its weights, at level dump
///   <folder>/calibration.json               written last
/// A line on `log` as each run ends. What has ended is kept when it is stopped; `resume` goes on from there. Throws
/// InputError: bad run file, fewer than 20 null runs, a folder in use; SystemError: stopped, a program is missing.
judging::Calibration calibrate(const CalibrateOptions& options, StopSignals& signals, std::FILE* log);

/// For people: how far apart, which limits, what to do next.
std::string calibration_text(const judging::Calibration& calibration, const std::filesystem::path& folder);

/// Whether every perturbed run lies within the limits made from all: limit_ceiling may forbid what harmless changes do.
bool null_runs_hold(const judging::Calibration& calibration);

}  // namespace plumbline
