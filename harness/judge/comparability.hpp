// SPDX-License-Identifier: BSD-3-Clause
// Whether two records are runs of the same training: their models, optimizers, schedules, versions and machines.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "record/manifest.hpp"
#include "record/record.hpp"
#include "record/verdict.hpp"
#include "support/json.hpp"

namespace plumbline::judging {

class Differences {
 public:
  explicit Differences(std::string one = "the reference", std::string other = "the candidate")
      : one_(std::move(one)), other_(std::move(other)) {}

  /// Adds "<what> is ... in the reference and ... in the candidate" if they differ; an empty text is absent.
  void demand_equal(const std::string& what, const std::string& reference, const std::string& candidate);
  void demand_equal(const std::string& what, const Json& reference, const Json& candidate);

  std::vector<std::string> words;

 private:
  std::string one_, other_;
};

/// Returns `fallback` also for null, and if the value is not an object.
Json value_or(const Json& object, const std::string& key, const Json& fallback);

/// For two Llamas: every key except those that change nothing (support/llama_keys.hpp), even if only one of them has
/// it. Throws InputError for a config that cannot be used.
void compare_models(const Json& reference, const Json& candidate, Differences& differences);
/// Compares every key of the config of another model, except a library's own notes.
void compare_configs(const Json& reference, const Json& candidate, Differences& differences);

void compare_optimizers(const Json& reference, const Json& candidate, Differences& differences);
/// "optimizer.amsbound": keys that no formula uses and that differ where there are several groups.
std::vector<std::string> optimizer_keys_not_judged(const Json& reference, const Json& candidate);
/// If one lacks it (an external record), only the rates of the steps are compared.
void compare_learning_rate_schedules(const Manifest& one, const Manifest& other, Differences& differences);

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
