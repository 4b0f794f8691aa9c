// SPDX-License-Identifier: BSD-3-Clause
// Whether two records are comparable, and whether they start from the same parameters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

/// Returns every reason why the two are not runs of the same training, are the same run, or one of them is only for
/// measurements (a perturbed run or float64 reference); empty if they are comparable. Reads no tables but two files of
/// each rank, which differ in their first bytes if the runs do. In the mode calibrated the devices may differ, and
/// nothing else.
std::vector<std::string> why_not_comparable(const Record& reference, const Record& candidate,
                                            ComparisonMode comparison_mode = ComparisonMode::bits);

/// Every reason why the reference is not a run of the training that `shadow`, the calibration's float64 reference, was
/// made for.
std::vector<std::string> why_not_calibrated(const Manifest& shadow, const Manifest& reference);

/// The same for the learning rates of the current step of both.
std::vector<std::string> why_other_rates(const Record& shadow, const Record& reference);

/// Differences in torch, processor, instruction set and GPUs, which may select other kernels; nullopt if there are
/// none.
std::optional<std::string> why_other_kernels(const Manifest& reference, const Manifest& candidate);

/// The torch versions of two runs, as other versions have other kernels, above all in bfloat16: "torch 2.11.0
/// against 2.15.0 (oneDNN 3.10.2, 3.13.3)", from the manifests' `versions`: `torch` or `libtorch`, without a build's
/// suffix ("+cpu"), and `onednn`. nullopt if both are equal, or one is unknown.
std::optional<std::string> why_other_torch(const Manifest& reference, const Manifest& candidate);

/// Keys of the optimizer ("optimizer.amsbound") that differ between records with several parameter groups: such keys
/// describe only one group.
std::vector<std::string> keys_not_judged(const Manifest& reference, const Manifest& candidate);

/// True if the run used GPUs of more than one model.
bool several_gpu_models(const Manifest& manifest);

/// The reason why the two are the same run; empty if they are not. Compares run ids and, by bytes, steps.csv and
/// actions.csv of a rank.
std::vector<std::string> why_the_same_run(const Record& one, const Record& other);

}  // namespace plumbline::judging
