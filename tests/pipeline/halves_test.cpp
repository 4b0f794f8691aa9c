// SPDX-License-Identifier: BSD-3-Clause
// Attention and MLP of a layer as units of their own: under every schedule bit-identical to a reference of whole
// layers, and judged against one of halves.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/pipeline/parity.hpp"
#include "tests/pipeline/references.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct Halved {
  std::string model = "stories260k";  ///< tied, with five layers; untied-128 has four
  std::string train = {};             ///< lines of [train]
  std::string pipeline = {};          ///< lines of [pipeline]
};

/// Four microbatches of unequal lengths, one of them masked.
fs::path run_file(const fs::path& path, const Halved& asked, const std::string& granularity) {
  std::ofstream(path) << "[model]\nconfig = \"" PLUMBLINE_FIXTURES "/models/" << asked.model
                      << "/config.json\"\n[data]\ntext = \"" PLUMBLINE_FIXTURES
                         "/corpus/\"\nlengths = [16, 9, [16, 5], 1]\nbatch = 2\nmasked = [1]\n[train]\nsteps = 2\n"
                         "learning_rate = 1e-3\nclip_norm = 3.7\n"
                      << asked.train << "[pipeline]\ngranularity = \"" << granularity << "\"\n"
                      << asked.pipeline;
  return path;
}

class HalvesParity : public SharedReferences {
 protected:
  static fs::path recorded_reference(const Halved& asked, const std::string& granularity) {
    const std::string name = std::to_string(std::hash<std::string>()(asked.model + asked.train)) + granularity;
    return recorded(name,
                    [&](const fs::path& folder) { return run_file(folder / (name + ".toml"), asked, granularity); });
  }

  static void expect_parity(const Halved& asked) {
    const auto& [world, schedule] = GetParam();
    const testing::TemporaryFolder own;
    const fs::path record = own.path() / "r";
    const fs::path halves = recorded_reference(asked, "half");
    ASSERT_EQ(train_pipeline(options(run_file(own.path() / "run.toml", asked, "half"), record, world, schedule)), 0);
    const auto compared = expect_same_bits(read_record(halves), read_record(record));
    EXPECT_EQ(compared.at("gradient"), compared.at("moment2"));
    std::vector<std::string> holding = {"memory", "parameters", "gradients", "census"};
    if (world > 1) holding.emplace_back("boundaries");  // of one rank there may be none
    expect_judged(GetParam(), halves, record, holding);
  }
};

TEST_P(HalvesParity, Tied) {
  expect_parity({});
}

INSTANTIATE_TEST_SUITE_P(Worlds, HalvesParity, ::testing::ValuesIn(worlds_and_schedules(4)), name_of);

using FewHalves = HalvesParity;

TEST_P(FewHalves, InOtherModelsAndPrecisions) {
  for (const char* precision : {"float64", "bfloat16", "mixed"})
    expect_parity({"untied-128", "precision = \"" + std::string(precision) + "\"\n"});
}

TEST_P(FewHalves, RecomputedInParts) {
  for (const char* part : {"layer", "attention", "mlp"})
    expect_parity({"stories260k", "recompute = \"" + std::string(part) + "\"\n"});
}

INSTANTIATE_TEST_SUITE_P(Few, FewHalves,
                         ::testing::Values(WorldAndSchedule{1, "1f1b"}, WorldAndSchedule{2, "zb-h1"},
                                           WorldAndSchedule{3, "1f1b"}, WorldAndSchedule{2, "zb-v"}),
                         name_of);

using HalvesByHand = HalvesParity;

TEST_P(HalvesByHand, CutWithinALayer) {
  expect_parity({"stories260k", "", "balance = [3, 0, 7]\n"});
}

INSTANTIATE_TEST_SUITE_P(OfThreeStages, HalvesByHand,
                         ::testing::Values(WorldAndSchedule{3, "1f1b"}, WorldAndSchedule{3, "zb-h1"}), name_of);

using WholeAndHalves = HalvesParity;

/// Rows of tensors, losses, norms and coefficients; of boundaries those at whole layers.
TEST_F(WholeAndHalves, ComputeTheSameBits) {
  for (const Halved& asked : {Halved{}, Halved{"untied-128", "precision = \"bfloat16\"\n"}}) {
    const Record whole = read_record(recorded_reference(asked, "layer"));
    const Record halves = read_record(recorded_reference(asked, "half"));
    const RankRecord &one = whole.ranks.front(), &other = halves.ranks.front();

    ASSERT_EQ(one.tensors.size(), other.tensors.size());
    for (std::size_t i = 0; i < one.tensors.size(); ++i) {
      EXPECT_EQ(one.tensors[i].name, other.tensors[i].name);
      EXPECT_EQ(one.tensors[i].digest, other.tensors[i].digest) << one.tensors[i].kind << " " << one.tensors[i].name;
    }
    for (std::size_t i = 0; i < one.steps.size(); ++i) {
      EXPECT_EQ(one.steps[i].loss, other.steps[i].loss);
      EXPECT_EQ(one.steps[i].gradient_norm, other.steps[i].gradient_norm);
    }
    std::map<std::tuple<std::int64_t, std::int64_t, std::string, std::string>, std::string> cuts;
    for (const BoundaryRow& row : other.boundaries) {
      const std::string of_layer = row.cut.substr(0, row.cut.find(".attention"));
      cuts[{row.step, row.microbatch, row.direction, of_layer}] = row.digest;
    }
    for (const BoundaryRow& row : one.boundaries)
      EXPECT_EQ(row.digest, (cuts[{row.step, row.microbatch, row.direction, row.cut}])) << row.direction << row.cut;
    EXPECT_GT(other.boundaries.size(), one.boundaries.size());
  }
}

TEST_F(WholeAndHalves, AreNotComparedWithEachOther) {
  CellPlan plan;
  plan.world = 1;
  const CellVerdict verdict =
      judge_cell(plan, recorded_reference({}, "layer"), recorded_reference({"stories260k", "", ""}, "half"));
  std::string reasons;
  for (const CheckResult& check : verdict.checks) reasons += check.reason + "\n";
  EXPECT_THAT(reasons, ::testing::HasSubstr("pipeline.granularity"));
}

}  // namespace
}  // namespace plumbline
