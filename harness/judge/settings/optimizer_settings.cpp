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

/// Keys of either that are not compared by name.
std::vector<std::string> other_optimizer_keys(const Json& reference, const Json& candidate) {
  std::vector<std::string> settled = numbers_of_optimizer(reference), others;
  settled.insert(settled.end(), {"name", "decay", "implementation"});
  settled.insert(settled.end(), optimizer_variants.begin(), optimizer_variants.end());
  for (const std::string& key : keys_of(reference, candidate)) {
    if (std::ranges::find(settled, key) == settled.end()) others.push_back(key);
  }
  return others;
}

/// False if one alone has the key, and of several groups: the settings are those of one group, and the ranks of the
/// other record may hold another.
bool is_comparable(const std::string& key, const Json& reference, const Json& candidate) {
  const auto has = [](const Json& optimizer, const std::string& name) {
    return !value_or(optimizer, name, nullptr).is_null();
  };
  return has(reference, key) && has(candidate, key) && !has(reference, "groups") && !has(candidate, "groups");
}

}  // namespace

std::vector<std::string> optimizer_keys_not_judged(const Json& reference, const Json& candidate) {
  std::vector<std::string> keys;
  for (const std::string& key : other_optimizer_keys(reference, candidate)) {
    const bool same = value_or(reference, key, nullptr) == value_or(candidate, key, nullptr);
    if (!same && !is_comparable(key, reference, candidate)) keys.push_back("optimizer." + key);
  }
  return keys;
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
    if (is_comparable(key, reference, candidate))
      differences.demand_equal("optimizer: " + key, reference.at(key), candidate.at(key));
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
