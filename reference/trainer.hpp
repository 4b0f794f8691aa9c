// SPDX-License-Identifier: BSD-3-Clause
// The reference: trains on one device, microbatch by microbatch, and records every boundary tensor. It has no ranks,
// threads or schedule.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "support/error.hpp"
#include "training/checkpoint/checkpoint_options.hpp"

namespace plumbline {

struct ReferenceOptions {
  std::filesystem::path run_file;
  std::filesystem::path record;                       ///< empty: no record
  std::optional<std::filesystem::path> text;          ///< overrides the run file's data
  std::optional<std::filesystem::path> accumulation;  ///< sum gradients in the order given by this file
  std::optional<std::uint64_t> perturb;               ///< seed for moving the initial parameters by at most one ULP
  bool shadow = false;                                ///< compute in float64 from the initial values of the run's dtype
  std::string device = "cpu";                         ///< cpu | cuda (the first visible GPU)
  CheckpointOptions checkpoint;
  std::vector<std::string> command;
  bool measure_split_backward = true;  ///< one additional pass over the first step, if recorded
  bool progress = true;
};

/// Trains and writes the record. Returns `stopped` if a signal ended it, else `holds`. Throws InputError, SystemError
/// or RunError; once the record was started, exit.json has the outcome.
ExitCode train_reference(const ReferenceOptions& options);

}  // namespace plumbline
