// SPDX-License-Identifier: BSD-3-Clause
// docs/schemas/request.schema.json compared with docs/request.md and with written requests.
#include <gmock/gmock.h>

#include <regex>
#include <sstream>

#include "harness/sweep/run_facts.hpp"
#include "harness/sweep/sweep_plan.hpp"
#include "support/files.hpp"
#include "tests/json_schema.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

const fs::path docs = fs::path(source_path()) / "docs";
const fs::path schema_file = docs / "schemas/request.schema.json";

/// The complete example of the page.
Json example() {
  const std::string page = read_file(docs / "request.md");
  const auto begin = page.find("```json\n") + 8;
  return Json::parse(page.substr(begin, page.find("```", begin) - begin));
}

/// Keys of an object whose names are free.
bool is_open(const std::string& key) {
  return key.starts_with("optimizer.") || key.starts_with("mesh.") || key.starts_with("learning_rate_schedule.");
}

TEST(RequestSchema, ListsExactlyTheKeysOfThePage) {
  const Json schema = read_json(schema_file);
  std::set<std::string> shown, described;
  collect_keys(example(), "", shown);
  collect_properties(schema, schema, "", described, KeysMayBeAbsent::yes);
  std::erase_if(shown, is_open);
  std::erase_if(described, is_open);

  EXPECT_EQ(shown, described);
  EXPECT_EQ(schema.at("properties").at("schema").at("const"), request_schema);
  EXPECT_GT(shown.size(), 25U);
}

TEST(RequestSchema, HasEveryKeyOfThePagesTable) {
  const Json schema = read_json(schema_file);
  static const std::regex row(R"(^\| (`[^|]*) \|.*$)"), name(R"(`([a-z_]+)`)");
  std::set<std::string> listed;
  std::istringstream lines(read_file(docs / "request.md"));
  for (std::string line; std::getline(lines, line);) {
    std::smatch cell;
    if (!std::regex_match(line, cell, row)) continue;
    const std::string names = cell[1];
    for (std::sregex_iterator at(names.begin(), names.end(), name), end; at != end; ++at) listed.insert((*at)[1]);
  }
  listed.insert("schema");
  std::set<std::string> described;
  for (const auto& [key, part] : schema.at("properties").items()) described.insert(key);

  EXPECT_EQ(listed, described);
}

TEST(RequestSchema, AcceptsASweepsRequestsAndRefusesDamage) {
  if (!can_validate()) GTEST_SKIP() << no_validator;
  std::vector<Json> right = {example()};
  for (const std::string name : {"quick", "bf16", "evaluation"}) {
    const SweepFile file = read_sweep_file(fs::path(fixtures_path()) / "sweeps" / (name + ".toml"));
    const SweepPlan plan = make_plan(file);
    right.push_back(to_json(make_request(file, plan.references.front())));
    right.push_back(to_json(make_request(file, plan.cells.back())));
  }
  for (const Json& json : with_each(example(), {[](Json& not_requested) { not_requested.erase("stages"); },
                                                [](Json& not_clipped) { not_clipped["clip_norm"] = nullptr; }}))
    right.push_back(json);

  expect_by_schema(schema_file, right,
                   with_each(example(), {[](Json& json) { json.erase("schema"); }, [](Json& json) { json["more"] = 1; },
                                         [](Json& json) { json["world_size"] = "two"; },
                                         [](Json& json) { json["stages"][0].erase("units"); },
                                         [](Json& json) { json["data"]["format"] = "pages"; }}));
}

}  // namespace
}  // namespace plumbline::testing
