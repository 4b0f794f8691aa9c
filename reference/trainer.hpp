// SPDX-License-Identifier: BSD-3-Clause
// The reference: trains on one device, microbatch by microbatch, and records every boundary tensor. It has no ranks,
// threads or schedule.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "support/error.hpp"
#include "training/trainer_options.hpp"

namespace plumbline {

struct ReferenceOptions : TrainerOptions {
  std::optional<std::filesystem::path> accumulation;  ///< sum gradients in the order given by this file
  std::optional<std::uint64_t> perturb;               ///< seed for moving the initial parameters by at most one ULP
  bool shadow = false;                                ///< compute in float64 from the initial values of the run's dtype
  bool measure_split_backward = true;                 ///< one additional pass over the first step, if recorded
};

/// Trains and writes the record. Returns `stopped` if a signal ended it, else `holds`. Throws InputError, SystemError
/// or RunError; once the record was started, exit.json has the outcome.
ExitCode train_reference(const ReferenceOptions& options);

}  // namespace plumbline
