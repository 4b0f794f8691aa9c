// SPDX-License-Identifier: BSD-3-Clause
// Whether two records may be compared at all, and whether they start from the same parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

/// Decided before the tables are read, but for two files of each rank that are held against each other: of two runs
/// they differ in their first bytes. In the calibrated tier the two may have run on different devices; nothing else is
/// let off. Every way in which the two are no runs of the same training, or are one and the same run, or one of them is
/// made to measure rounding and not to be compared (perturbed, a shadow); empty when they can be compared.
std::vector<std::string> why_not_comparable(const Record& reference, const Record& candidate, Tier tier = Tier::bits);

/// Every way in which the reference's manifest is of no run of the training that `shadow`, a calibration's, was made
/// for.
std::vector<std::string> why_not_calibrated(const Manifest& shadow, const Manifest& reference);

/// The same of the learning rates of the step that both are at.
std::vector<std::string> why_other_rates(const Record& shadow, const Record& reference);

/// What the two say differently of torch, processor, instruction set and GPUs, so that their kernels may be others;
/// nothing when all of it is equal.
std::optional<std::string> why_other_kernels(const Manifest& reference, const Manifest& candidate);

/// Keys of a Llama's config that one of the two alone gives, and whose absence says nothing that is known.
std::vector<std::string> model_keys_not_judged(const Manifest& reference, const Manifest& candidate);

/// Whether the run's manifest lists GPUs of more than one model.
bool several_gpu_models(const Manifest& manifest);

/// Why the two are the same run; empty when they are not. Run ids, and byte-equal steps.csv and actions.csv of a rank.
std::vector<std::string> why_the_same_run(const Record& one, const Record& other);

}  // namespace plumbline::judging
