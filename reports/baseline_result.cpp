// SPDX-License-Identifier: BSD-3-Clause
#include "reports/baseline_result.hpp"

#include <fmt/format.h>

#include "reports/words.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::string compared_text(const Json& counts) {
  std::vector<std::string> parts;
  for (const auto& [what, count] : counts.items()) {
    if (count.get<std::int64_t>() > 0) parts.push_back(counts_text({{what, count.get<std::int64_t>()}}));
  }
  return join(parts, ", ");
}

}  // namespace

BaselineResult baseline_result_from(const Json& json) {
  const auto text = [](const Json& object, const char* key) { return object.at(key).get<std::string>(); };
  BaselineResult result;
  result.name = text(json, "baseline");
  result.commit_before = text(json, "commit_before");
  result.commit_now = text(json, "commit_now");
  result.holds = json.at("holds").get<bool>();
  result.compared = compared_text(json.at("compared"));
  for (const Json& change : json.at("changes")) {
    result.changes.push_back({text(change, "kind"), text(change, "where"), text(change, "words")});
  }
  for (const Json& difference : json.at("environment")) {
    result.environment.push_back({text(difference, "key"), text(difference, "before"), text(difference, "now")});
  }
  result.not_compared = json.at("not_compared").get<std::vector<std::string>>();
  result.red = json.value("red", std::vector<std::string>());  // not in files of version 0.1
  result.allowed = json.at("allowed").get<std::vector<std::string>>();
  result.reason = text(json, "reason");
  return result;
}

std::optional<BaselineResult> read_baseline_result(const fs::path& folder) {
  const fs::path file = folder / "baseline.json";
  std::error_code missing;
  if (!fs::exists(file, missing)) return std::nullopt;
  const Json json = read_json(file);
  try {
    return baseline_result_from(json);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}: not as plumbline baseline compare writes it: {}", file.string(), error.what()));
  }
}

}  // namespace plumbline
