// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/run_variant.hpp"

#include "support/json.hpp"
#include "support/toml_library.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

TEST(RunVariant, CandidatesStartFromOtherWeightsAndDump) {
  const TemporaryFolder folder;
  const auto run = folder.file("runs/a.toml", "[model]\nconfig = \"models/small/config.json\"\n[pipeline]\n");
  RunChanges changes;
  changes.level = "dump";
  changes.weights = folder / "reference/start.safetensors";
  const auto written = parse_toml("made.toml", candidate_run(run, changes, folder / "out"));

  EXPECT_EQ(written["model"]["weights"].value<std::string>(), "../reference/start.safetensors");
  EXPECT_EQ(written["record"]["level"].value<std::string>(), "dump");
  EXPECT_EQ(written["model"]["config"].value<std::string>(), "../runs/models/small/config.json");
  EXPECT_TRUE(written["pipeline"].is_table()) << "the candidate's own keys stay";
}

/// The keys of the run file that are any text, or lists of it, name files.
TEST(RunVariant, EveryPathIsRelativeToTheNewFolder) {
  const TemporaryFolder folder;
  const Json tables = read_json(source_path() + "/docs/schemas/run.schema.json");
  for (const std::string table : {"model", "data"}) {
    for (const auto& [key, rule] : tables.at("properties").at(table).at("properties").items()) {
      if (rule.value("type", "") != "string" && !rule.contains("anyOf")) continue;
      const auto run = folder.file("runs/a.toml", "[" + table + "]\n" + key + " = \"../files/a\"\n");
      const auto written = parse_toml("made.toml", reference_run(run, {}, folder / "out/case"));
      EXPECT_EQ(written[table][key].value<std::string>(), "../../files/a") << table << "." << key;
    }
  }
}

}  // namespace
}  // namespace plumbline::testing
