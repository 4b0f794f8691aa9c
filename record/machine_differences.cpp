// SPDX-License-Identifier: BSD-3-Clause
#include "record/machine_differences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "record/json_keys.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

using Values = std::map<std::string, std::string>;  ///< by key

/// Variables of torch that choose no kernel: torch.distributed sets some itself, logging is the user's.
bool chooses_no_kernel(const std::string& variable) {
  constexpr std::array prefixes = {"TORCH_NCCL_",    "TORCH_DISTRIBUTED_", "TORCH_FR_", "TORCH_LOGS",
                                   "TORCH_CPP_LOG_", "TORCH_SHOW_CPP_",    "TORCH_HOME"};
  return std::ranges::any_of(prefixes, [&](const char* prefix) { return variable.starts_with(prefix); });
}

/// By rank; the manifest supplies what a rank lacks.
std::vector<Values> recorded_by_ranks(const Record& record) {
  std::vector<Values> by_rank;
  for (std::int64_t rank = 0; rank < record.manifest.world_size || by_rank.empty(); ++rank) {
    const auto read = std::ranges::find(record.ranks, rank, &RankRecord::rank);
    const Json own = read == record.ranks.end() ? Json::object() : read->machine;
    Values& values = by_rank.emplace_back(Values{{"device", record.manifest.device}});
    for (const std::string part : {"versions", "machine", "environment"}) {
      const Json object = own.contains(part) ? own.at(part) : record.manifest.json.value(part, Json());
      if (!object.is_object()) continue;
      for (const auto& [key, value] : object.items()) {
        if (!value.is_null() && !chooses_no_kernel(key)) values[part + "/" + key] = unquoted(value);
      }
    }
  }
  return by_rank;
}

/// The value if all ranks agree, else each value with its ranks.
std::string text_of(const std::vector<Values>& ranks, const std::string& key) {
  std::map<std::string, std::vector<std::string>> by_value;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    by_value[ranks[rank].contains(key) ? ranks[rank].at(key) : "-"].push_back(std::to_string(rank));
  if (by_value.size() == 1) return by_value.begin()->first;
  std::vector<std::string> parts;
  for (const auto& [value, of] : by_value)
    parts.push_back(fmt::format("{} ({} {})", value, of.size() > 1 ? "ranks" : "rank", join(of, ", ")));
  return join(parts, ", ");
}

bool is_recorded(const std::vector<Values>& ranks, const std::string& key_or_part) {
  return std::ranges::any_of(ranks, [&](const Values& values) {
    const auto found = values.lower_bound(key_or_part);
    return found != values.end() && found->first.starts_with(key_or_part);
  });
}

}  // namespace

Json read_rank_machine(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return Json::object();
  Json json = read_json(file);
  const JsonKeys keys(file, json);
  keys.refuse_unknown({"versions", "machine", "environment", "gpu"});
  for (const char* part : {"versions", "machine", "environment"})
    if (keys.has_value(part)) keys.object(part);
  keys.optional_text("gpu");
  return json;
}

std::vector<MachineDifference> machine_differences(const Record& reference, const Record& candidate) {
  const auto theirs = recorded_by_ranks(reference), mine = recorded_by_ranks(candidate);
  std::set<std::string> keys;
  for (const auto* ranks : {&theirs, &mine})
    for (const Values& values : *ranks)
      for (const auto& [key, value] : values) keys.insert(key);
  std::vector<MachineDifference> differences;
  for (const std::string& key : keys) {
    // Programs name only the libraries that they use: a reference has no MPI.
    const std::string asked = key.starts_with("versions/") ? key : key.substr(0, key.find('/') + 1);
    if (!asked.empty() && (!is_recorded(theirs, asked) || !is_recorded(mine, asked))) continue;
    MachineDifference difference{key, text_of(theirs, key), text_of(mine, key)};
    const bool several = difference.reference.find(" (rank") != std::string::npos;
    if (difference.reference != difference.candidate || several) differences.push_back(std::move(difference));
  }
  return differences;
}

}  // namespace plumbline
