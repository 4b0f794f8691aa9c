// SPDX-License-Identifier: BSD-3-Clause
#include "reports/bench_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/error.hpp"
#include "support/json.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

struct Rounds {
  std::string name;
  std::vector<double> milliseconds, speeds;
};

std::vector<Rounds> rounds_of(const Json& benchmarks) {
  std::vector<Rounds> all;
  for (const Json& entry : benchmarks) {
    const std::string name = entry.at("name").get<std::string>();
    auto same = std::ranges::find(all, name, &Rounds::name);
    if (same == all.end()) same = all.insert(same, {name, {}, {}});
    same->milliseconds.push_back(entry.at("real_time").get<double>());
    if (entry.contains("speed")) same->speeds.push_back(entry.at("speed").get<double>());
  }
  return all;
}

}  // namespace

BenchRows read_bench_rows(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "bench.json";
  std::error_code missing;
  BenchRows bench;
  if (!std::filesystem::exists(file, missing)) return bench;
  const Json json = read_json(file);
  try {
    for (const Rounds& each : rounds_of(json.at("benchmarks"))) {
      const auto [low, high] = std::ranges::minmax(each.milliseconds);
      bench.rows.push_back(
          {each.name, std::ssize(each.milliseconds), *median_of(each.milliseconds), low, high, median_of(each.speeds)});
    }
    const Json context = json.value("context", Json::object());
    if (!context.value("quiet", true)) bench.noise = context.at("noise").get<double>();
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}: not as plumbline bench --json writes it: {}", file.string(), error.what()));
  }
  return bench;
}

}  // namespace plumbline
