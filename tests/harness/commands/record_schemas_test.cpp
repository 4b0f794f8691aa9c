// SPDX-License-Identifier: BSD-3-Clause
// The JSON Schemas of manifest and exit file, compared with the files of all writers in this repository and with the
// reader: both refuse the same files.
#include <gtest/gtest.h>

#include "support/files.hpp"
#include "support/json_text.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/json_schema.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

const fs::path schema_tree = fs::path(PLUMBLINE_FIXTURES).parent_path();
const fs::path manifest_schema = schema_tree / "docs" / "schemas" / "manifest.schema.json";
const fs::path exit_schema = schema_tree / "docs" / "schemas" / "exit.schema.json";

class RecordSchemas : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_validate()) GTEST_SKIP() << no_validator;
  }
};

TEST_F(RecordSchemas, AcceptWhatOurProgramsAndOthersWrote) {
  int seen = 0;
  for (const fs::path& folder :
       {schema_tree / "tests" / "frozen_records" / "schema-2", schema_tree / "fixtures" / "witness"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name != "manifest.json" && name != "exit.json") continue;
      EXPECT_EQ(validate(entry.path(), name == "exit.json" ? exit_schema : manifest_schema), 0) << entry.path();
      ++seen;
    }
  }
  EXPECT_GE(seen, 12);
}

TEST_F(RecordSchemas, RefuseWhatTheReaderRefuses) {
  SyntheticCell cell;
  const auto change = [](const char* key, const Json& value) {
    return [key, value](Json& json) { value.is_discarded() ? void(json.erase(key)) : void(json[key] = value); };
  };
  const Json gone(Json::value_t::discarded);
  const TemporaryFolder folder;
  const auto refused = [&](const Json& json) {
    write_file(folder / "manifest.json", json_text(json));
    bool by_reader = false;
    try {
      read_manifest(folder.path());
    } catch (const std::exception&) {
      by_reader = true;
    }
    EXPECT_EQ(validate(folder / "manifest.json", manifest_schema) != 0, by_reader) << json_text(json);
    return by_reader;
  };

  EXPECT_FALSE(refused(cell.candidate.manifest));
  for (const auto& damage : {change("run_id", ""),
                             change("role", "judge"),
                             change("world_size", 0),
                             change("steps", 1.5),
                             change("stages", Json::array()),
                             change("clip_norm", "1"),
                             change("level", "all"),
                             change("model", "llama"),
                             change("tied", Json::array({Json::array({"one"})})),
                             change("optimizer", Json{{"name", "adamw"}}),
                             change("norm_order", "per_rank"),
                             change("clip_epsilon", 1e-6),
                             change("schema", "plumbline-record/3"),
                             change("model", gone),
                             change("clip_norm", gone),
                             change("learning_rate_schedule", gone),
                             change("loss_scaling", "between"),
                             change("recompute", "all"),
                             change("clock_skew_ns", -1),
                             change("dtype", "float8"),
                             change("mesh", Json{{"axes", {{"pp", 2}}}}),
                             change("mesh", "2 x 2"),
                             change("every", 0),
                             change("every", 2),
                             change("threads", 0),
                             change("frozen", Json{"a", "a"}),
                             change("optimizer", Json{{"name", "lion"}, {"learning_rate", 0.1}}),
                             change("not_recorded", Json::array()),
                             change("every", "10")}) {
    Json json = cell.candidate.manifest;
    damage(json);
    EXPECT_TRUE(refused(json)) << json_text(json);
  }
}

}  // namespace
}  // namespace plumbline::testing
