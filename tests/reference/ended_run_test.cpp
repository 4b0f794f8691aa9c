// SPDX-License-Identifier: BSD-3-Clause
// What the reference leaves behind if it cannot start or complete a run, and its warnings.
#include <gmock/gmock.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "record/exit_file.hpp"
#include "record/record.hpp"
#include "reference/trainer.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/safetensors.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/token_file_bytes.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class EndedRun : public ::testing::Test {
 protected:
  /// Three steps on `tokens`.
  void train(const std::vector<std::uint16_t>& tokens, const std::string& lengths, const std::string& model = "") {
    folder_.file("ids.bin", testing::numbers(tokens));
    ReferenceOptions options;
    options.run_file = folder_.file(
        "run.toml", "[model]\nconfig = \"" + testing::fixtures_path() + "/models/stories260k/config.json\"\n" + model +
                        "[data]\ntokens = \"ids.bin\"\nlengths = " + lengths + "\n[train]\nsteps = 3\n");
    options.record = folder_ / "record";
    options.progress = false;
    train_reference(options);
  }

  testing::TemporaryFolder folder_;
};

TEST_F(EndedRun, LeavesNoFolderForWeightsOfAnotherModel) {
  const std::vector<std::byte> one(4);
  write_safetensors(folder_ / "other.safetensors", {{"model.norm.weight", {"float32", {1}, one}}});

  EXPECT_THAT(testing::error_of<InputError>(
                  [&] { train(std::vector<std::uint16_t>(20, 3), "[4]", "weights = \"other.safetensors\"\n"); }),
              HasSubstr("other.safetensors"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "record"));
}

TEST_F(EndedRun, KeepsTheStepsBeforeAFailure) {
  std::vector<std::uint16_t> tokens(100, 3);
  const std::uint64_t start = hash64("data/1") % tokens.size();
  tokens[(start + 4 + 2) % tokens.size()] = 600;  // within the second step, beyond the vocabulary

  EXPECT_THAT(testing::error_of<InputError>([&] { train(tokens, "[4]"); }), HasSubstr("token 600"));

  const RankRecord rank = read_record(folder_ / "record").ranks.front();
  EXPECT_EQ(rank.steps.size(), 1U);
  ASSERT_TRUE(rank.exit);
  EXPECT_EQ(rank.exit->status, "error");
  EXPECT_EQ(rank.exit->code, 1);
}

TEST_F(EndedRun, WarnsAboutEqualMicrobatches) {
  const std::string warning = "warning: microbatches 0 and 1 of step 0 hold the same tokens";
  ::testing::internal::CaptureStderr();
  train(std::vector<std::uint16_t>(100, 3), "[4, 4]");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(warning));

  std::filesystem::remove_all(folder_ / "record");
  ::testing::internal::CaptureStderr();
  train(std::vector<std::uint16_t>(100, 3), "[4, 3]");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), Not(HasSubstr(warning)));
}

}  // namespace
}  // namespace plumbline
