// SPDX-License-Identifier: BSD-3-Clause
// The JSON Schemas of manifest and exit file, compared with the files of all writers in this repository and with the
// reader: both refuse the same files.

#include "support/files.hpp"
#include "support/json_text.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/json_schema.hpp"
#include "tests/paths.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

const fs::path schema_tree = fs::path(source_path());
const fs::path manifest_schema = schema_tree / "docs" / "schemas" / "manifest.schema.json";
const fs::path exit_schema = schema_tree / "docs" / "schemas" / "exit.schema.json";

class RecordSchemas : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_validate()) GTEST_SKIP() << no_validator;
  }
};

TEST_F(RecordSchemas, AcceptWhatOurProgramsAndOthersWrote) {
  std::vector<Json> manifests, exits;
  for (const fs::path& folder : {schema_tree / "tests" / "frozen_records", schema_tree / "examples" / "kept"}) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (name == "manifest.json") manifests.push_back(read_json(entry.path()));
      if (name == "exit.json") exits.push_back(read_json(entry.path()));
    }
  }
  EXPECT_GE(manifests.size() + exits.size(), 12U);
  expect_by_schema(manifest_schema, manifests, {});
  expect_by_schema(exit_schema, exits, {});
}

TEST_F(RecordSchemas, RefuseWhatTheReaderRefuses) {
  const Json right = SyntheticCell().candidate.manifest;
  const auto change = [](const char* key, const Json& value) {
    return [key, value](Json& json) { value.is_discarded() ? void(json.erase(key)) : void(json[key] = value); };
  };
  const Json gone(Json::value_t::discarded);
  const std::vector<Json> wrong = with_each(right, {change("run_id", ""),
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
                                                    change("every", "10")});

  expect_by_schema(manifest_schema, {right}, wrong);
  const TemporaryFolder folder;
  write_file(folder / "manifest.json", json_text(right));
  EXPECT_NO_THROW(read_manifest(folder.path()));
  for (const Json& json : wrong) {
    write_file(folder / "manifest.json", json_text(json));
    EXPECT_ANY_THROW(read_manifest(folder.path())) << json_text(json);
  }
}

}  // namespace
}  // namespace plumbline::testing
