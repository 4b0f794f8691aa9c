// SPDX-License-Identifier: BSD-3-Clause
// The oracle: trains on one device, microbatch by microbatch, and writes down every cut. No ranks, no threads, no
// schedule.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "training/checkpoint/checkpoint_options.hpp"

namespace plumbline {

struct ReferenceOptions {
  std::filesystem::path run_file;
  std::filesystem::path record;                       ///< empty: none is kept
  std::optional<std::filesystem::path> text;          ///< replaces the run file's data
  std::optional<std::filesystem::path> accumulation;  ///< sum gradients in the order of this file
  std::optional<std::uint64_t> perturb;               ///< move the initial parameters by an ULP or none, by this seed
  bool shadow = false;                                ///< compute in float64 from the run's own dtype's initial values
  std::string device = "cpu";                         ///< cpu | cuda: the first GPU that the process sees
  CheckpointOptions checkpoint;
  std::vector<std::string> command;
  bool measure_split_backward = true;                ///< one more pass over the first step, where it is recorded
  std::optional<std::int64_t> dump_microbatches_of;  ///< step whose dump tells what gradients were in between
  bool progress = true;
};

/// Trains and writes the record. Throws InputError, SystemError or RunError; exit.json says how it ended once the
/// record was begun.
void train_reference(const ReferenceOptions& options);

}  // namespace plumbline
