// SPDX-License-Identifier: BSD-3-Clause
// Comparison of two records' models, optimizers and learning rate schedules, and their differences in words.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "record/manifest.hpp"
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

}  // namespace plumbline::judging
