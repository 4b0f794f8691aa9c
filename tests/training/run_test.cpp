// SPDX-License-Identifier: BSD-3-Clause
// A run file's settings, checked against its model and its data.
#include "training/run.hpp"

#include <gmock/gmock.h>

#include <string>

#include "support/error.hpp"
#include "support/json.hpp"
#include "support/json_text.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;

class LoadedRun : public ::testing::Test {
 protected:
  /// A model with this many positions, and a text of 200 bytes.
  std::filesystem::path run_file(std::int64_t positions, const std::string& data) {
    Json config = read_json(testing::fixtures_path() + "/models/stories260k/config.json");
    config["max_position_embeddings"] = positions;
    folder_.file("config.json", json_text(config));
    folder_.file("text.txt", std::string(200, 'a'));
    return folder_.file(
        "run.toml", "[model]\nconfig = \"config.json\"\n[data]\ntext = \"text.txt\"\n" + data + "[train]\nsteps = 1\n");
  }

 private:
  testing::TemporaryFolder folder_;
};

TEST_F(LoadedRun, AcceptsRowsUpToTheModelsPositions) {
  EXPECT_EQ(load_run(run_file(32, "lengths = [32, 7]\n"), std::nullopt).batches.longest_sequence(), 32);
  EXPECT_THAT(error_of<InputError>([&] { load_run(run_file(31, "lengths = [7, 32]\n"), std::nullopt); }),
              AllOf(HasSubstr("run.toml: data.lengths asks for rows of 32 tokens, but "),
                    HasSubstr("config.json has max_position_embeddings = 31")));
}

// Each row of a microbatch needs the memory of its longest row.
TEST_F(LoadedRun, RefusesPaddingBeyondMemory) {
  std::string rows;
  const int batch = 20000, longest = 50'000'000;
  for (int i = 1; i < batch; ++i) rows += "1, ";
  const std::string data =
      "batch = " + std::to_string(batch) + "\nlengths = [1, [" + rows + std::to_string(longest) + "]]\n";
  const auto run = run_file(longest, data);
  const auto text = run.parent_path() / "text.txt";
  std::filesystem::resize_file(text, longest + 3 * batch);  // sparse

  EXPECT_THAT(error_of<SystemError>([&] { load_run(run, std::nullopt); }),
              HasSubstr("run.toml: microbatch 1 of 20000 rows, padded to 50000000 tokens each,"));
}

TEST_F(LoadedRun, EvaluatesOnlyOnItsValidationData) {
  const std::string data = "lengths = [8]\nbatch = 2\n";
  const auto text = run_file(32, data).parent_path() / "text.txt";
  const plumbline::Run evaluated =
      load_run(run_file(32, data + "validation = \"" + text.string() + "\"\n"), std::nullopt);

  ASSERT_TRUE(evaluated.validation.has_value());
  EXPECT_EQ(evaluated.validation->tokens(0), 16);
  EXPECT_FALSE(load_run(run_file(32, data), std::nullopt).validation.has_value());
}

TEST_F(LoadedRun, HasAUniqueId) {
  const auto run = run_file(32, "lengths = [8]\n");

  EXPECT_NE(load_run(run, std::nullopt).id, load_run(run, std::nullopt).id);
}

}  // namespace
}  // namespace plumbline
