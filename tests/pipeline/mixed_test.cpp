// SPDX-License-Identifier: BSD-3-Clause
// Mixed precision under every schedule: bit-identical to the reference, and the judge checks masters, copies and bytes.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "harness/judge/predicates/predicates.hpp"
#include "support/files.hpp"
#include "tests/paths.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/pipeline/references.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

fs::path mixed_run(const fs::path& folder, const std::string& model, const std::string& optimizer) {
  const fs::path path = folder / (model + "-" + optimizer + ".toml");
  std::ofstream(path) << "[model]\nconfig = \"" + testing::fixtures_path() + "/models/" << model
                      << "/config.json\"\n[data]\ntext = \"" + testing::fixtures_path() +
                             "/corpus/\"\nlengths = [16, 9, [16, 5], 1]\nbatch = 2\nmasked = [1]\n[train]\nsteps = 3\n"
                             "learning_rate = 1e-3\nclip_norm = 3.7\nprecision = \"mixed\"\noptimizer = \""
                      << optimizer << "\"\n";
  return path;
}

class MixedParity : public SharedReferences {
 protected:
  static fs::path recorded_reference(const std::string& model, const std::string& optimizer) {
    return recorded(model + optimizer, [&](const fs::path& folder) { return mixed_run(folder, model, optimizer); });
  }

  static void expect_parity(const std::string& model, const std::string& optimizer) {
    const auto& [world, schedule] = GetParam();
    const fs::path reference = recorded_reference(model, optimizer);
    const testing::TemporaryFolder own;
    const fs::path record = own.path() / "r";
    ASSERT_EQ(train_pipeline(options(mixed_run(own.path(), model, optimizer), record, world, schedule)), 0);
    const auto compared = expect_same_bits(read_record(reference), read_record(record));
    EXPECT_EQ(compared.at("copy"), compared.at("parameter"));
    expect_judged(GetParam(), reference, record, {"memory", "parameters", "gradients", "census"});
  }
};

TEST_P(MixedParity, MatchesTiedWithAdamw) {
  expect_parity("stories260k", "adamw");
}

INSTANTIATE_TEST_SUITE_P(Worlds, MixedParity, ::testing::ValuesIn(worlds_and_schedules(4)), name_of);

using MixedUntied = MixedParity;

TEST_P(MixedUntied, MatchesWithSgd) {
  expect_parity("untied-128", "sgd");
}

INSTANTIATE_TEST_SUITE_P(Few, MixedUntied,
                         ::testing::Values(WorldAndSchedule{1, "1f1b"}, WorldAndSchedule{2, "zb-h1"},
                                           WorldAndSchedule{3, "1f1b"}, WorldAndSchedule{2, "zb-v"}),
                         name_of);

using MixedRecord = MixedParity;

TEST_F(MixedRecord, ListsFloat32MastersAndTheirCopiesInBfloat16) {
  const Record record = read_record(recorded_reference("stories260k", "adamw"));

  EXPECT_EQ(record.manifest.dtype, "mixed");
  for (const TensorRow& row : record.ranks.front().tensors)
    EXPECT_EQ(row.dtype, row.kind == "copy" ? "bfloat16" : "float32") << row.kind << " " << row.name;
  for (const BoundaryRow& row : record.ranks.front().boundaries) EXPECT_EQ(row.dtype, "bfloat16");
  EXPECT_TRUE(predicates::judge_alone(record.path).findings.empty());
}

}  // namespace
}  // namespace plumbline
