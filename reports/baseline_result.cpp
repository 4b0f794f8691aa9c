// SPDX-License-Identifier: BSD-3-Clause
#include "reports/baseline_result.hpp"

#include "reports/words.hpp"
#include "support/error.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> texts(const Json& list) {
  std::vector<std::string> all;
  for (const Json& text : list) all.push_back(text.get<std::string>());
  return all;
}

std::string compared_text(const Json& counts) {
  std::vector<std::string> parts;
  for (const auto& [what, count] : counts.items()) {
    if (count.get<std::int64_t>() > 0) parts.push_back(grouped(count.get<std::int64_t>()) + " " + spaced(what));
  }
  return join(parts, ", ");
}

}  // namespace

BaselineResult baseline_result_from(const Json& json) {
  BaselineResult result;
  result.name = json.at("baseline").get<std::string>();
  result.commit_before = json.at("commit_before").get<std::string>();
  result.commit_now = json.at("commit_now").get<std::string>();
  result.holds = json.at("holds").get<bool>();
  result.compared = compared_text(json.at("compared"));
  for (const Json& change : json.at("changes")) {
    result.changes.push_back({change.at("kind").get<std::string>(), change.at("where").get<std::string>(),
                              change.at("words").get<std::string>()});
  }
  for (const Json& difference : json.at("environment")) {
    result.environment.push_back({difference.at("key").get<std::string>(), difference.at("before").get<std::string>(),
                                  difference.at("now").get<std::string>()});
  }
  result.not_compared = texts(json.at("not_compared"));
  result.allowed = texts(json.at("allowed"));
  result.reason = json.at("reason").get<std::string>();
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
    throw InputError(file.string() + ": not as plumbline baseline compare writes it: " + error.what());
  }
}

}  // namespace plumbline
