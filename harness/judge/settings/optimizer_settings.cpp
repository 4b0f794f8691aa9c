// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/settings/optimizer_settings.hpp"

#include <algorithm>
#include <string_view>

#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

/// The numbers of this optimiser's formula.
std::vector<std::string> numbers_of_optimizer(const Json& optimizer) {
  std::vector<std::string> keys = {"learning_rate", "weight_decay"};
  const Json name = value_or(optimizer, "name", "");
  if (name == "adamw") keys.insert(keys.end(), {"beta1", "beta2", "eps"});
  if (name == "sgd") keys.push_back("momentum");
  return keys;
}

/// Keys of either that are not compared by name. Of several groups, ranks may hold different ones.
std::vector<std::string> other_optimizer_keys(const Json& reference, const Json& candidate) {
  std::vector<std::string> settled = numbers_of_optimizer(reference), others;
  settled.insert(settled.end(), {"name", "decay", "implementation"});
  const Json name = value_or(reference, "name", "");
  if (name == "adamw" || name == "sgd") settled.insert(settled.end(), {"beta1", "beta2", "eps", "momentum"});
  settled.insert(settled.end(), optimizer_variants.begin(), optimizer_variants.end());
  if (value_or(reference, "groups", nullptr) != nullptr || value_or(candidate, "groups", nullptr) != nullptr)
    return others;
  for (const std::string& key : keys_of(reference, candidate)) {
    if (std::ranges::find(settled, key) == settled.end()) others.push_back(key);
  }
  return others;
}

}  // namespace

std::vector<std::string> optimizer_keys_of_one(const Json& reference, const Json& candidate) {
  std::vector<std::string> alone;
  for (const std::string& key : other_optimizer_keys(reference, candidate)) {
    if (value_or(reference, key, nullptr).is_null() != value_or(candidate, key, nullptr).is_null())
      alone.push_back("optimizer." + key);
  }
  return alone;
}

void compare_optimizers(const Json& reference, const Json& candidate, Differences& differences) {
  const Json name = value_or(reference, "name", "");
  differences.demand_equal("optimizer", name, value_or(candidate, "name", ""));
  differences.demand_equal("optimizer: decay", value_or(reference, "decay", "all"),
                           value_or(candidate, "decay", "all"));
  for (const auto& key : numbers_of_optimizer(reference)) {
    differences.demand_equal("optimizer: " + key, value_or(reference, key, nullptr), value_or(candidate, key, nullptr));
  }
  for (const char* key : optimizer_variants) {
    if (std::string_view(key) == "groups") continue;  // of ranks that hold different parameters
    const auto variant = [&](const Json& optimizer) {
      const Json value = value_or(optimizer, key, 0);
      return value == Json(false) ? Json(0) : value;
    };
    differences.demand_equal(std::string("optimizer: ") + key, variant(reference), variant(candidate));
  }
  for (const std::string& key : other_optimizer_keys(reference, candidate)) {
    const Json mine = value_or(reference, key, nullptr), theirs = value_or(candidate, key, nullptr);
    if (!mine.is_null() && !theirs.is_null()) differences.demand_equal("optimizer: " + key, mine, theirs);
  }
}

void compare_learning_rate_schedules(const Manifest& one, const Manifest& other, Differences& differences) {
  if (!one.learning_rate_schedule || !other.learning_rate_schedule) return;
  const auto &mine = *one.learning_rate_schedule, &theirs = *other.learning_rate_schedule;
  const std::string of = "learning rate schedule: ";
  differences.demand_equal(of + "warmup_steps", to_text(mine.warmup_steps), to_text(theirs.warmup_steps));
  differences.demand_equal(of + "start_factor", to_text(mine.start_factor), to_text(theirs.start_factor));
  differences.demand_equal(of + "final_factor", to_text(mine.final_factor), to_text(theirs.final_factor));
  differences.demand_equal(of + "total_steps", to_text(mine.total_steps), to_text(theirs.total_steps));
}

}  // namespace plumbline::judging
