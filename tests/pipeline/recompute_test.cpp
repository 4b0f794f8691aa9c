// SPDX-License-Identifier: BSD-3-Clause
// Layers recomputed in the backward pass, under every schedule: bit-identical to a reference that saves their
// activations, and judged, with the activation memory model, against one that recomputes too.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "harness/judge/judge.hpp"
#include "reference/trainer.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// Tied, with five layers; four microbatches of unequal lengths, one of them masked.
fs::path recompute_run(const fs::path& folder, const std::string& recompute, const std::string& dtype) {
  const fs::path path = folder / (recompute + "-" + dtype + ".toml");
  std::ofstream(path) << "[model]\nconfig = \"" PLUMBLINE_FIXTURES
                         "/models/stories260k/config.json\"\n[data]\ntext = \"" PLUMBLINE_FIXTURES
                         "/corpus/\"\nlengths = [16, 9, [16, 5], 1]\nbatch = 2\nmasked = [1]\n[train]\nsteps = 2\n"
                         "learning_rate = 1e-3\nclip_norm = 3.7\ndtype = \""
                      << dtype << "\"\nrecompute = \"" << recompute << "\"\n";
  return path;
}

class RecomputeParity : public ::testing::TestWithParam<WorldAndSchedule> {
 protected:
  static void SetUpTestSuite() { folder_ = std::make_unique<testing::TemporaryFolder>(); }
  static void TearDownTestSuite() { folder_.reset(); }

  static fs::path recorded_reference(const std::string& recompute, const std::string& dtype) {
    const fs::path record = folder_->path() / ("reference-" + recompute + "-" + dtype);
    if (!fs::exists(record)) {
      ReferenceOptions reference;
      reference.run_file = recompute_run(folder_->path(), recompute, dtype);
      reference.record = record;
      reference.progress = false;
      reference.command = {"test"};
      train_reference(reference);
    }
    return record;
  }

  static void expect_parity(const std::string& dtype, int world, const std::string& schedule) {
    const testing::TemporaryFolder own;
    const fs::path record = own.path() / "r";
    const fs::path run = recompute_run(own.path(), "layer", dtype);

    ASSERT_EQ(train_pipeline(options(run, record, world, schedule)), 0);

    const auto compared = expect_same_bits(read_record(recorded_reference("none", dtype)), read_record(record));
    EXPECT_EQ(compared.at("gradient"), 2 * 48);
    CellPlan plan;
    plan.id = dtype;
    plan.world = world;
    plan.schedule = schedule;
    plan.launch.emplace();
    const CellVerdict verdict = judge_cell(plan, recorded_reference("layer", dtype), record);
    for (const CheckResult& check : verdict.checks)
      EXPECT_NE(check.outcome, Outcome::fails) << check.name << ": " << check.reason;
    const auto memory = std::ranges::find(verdict.checks, "memory", &CheckResult::name);
    EXPECT_EQ(memory->outcome, Outcome::holds) << memory->reason;
  }

  static inline std::unique_ptr<testing::TemporaryFolder> folder_;
};

TEST_P(RecomputeParity, InFloat32) {
  const auto& [world, schedule] = GetParam();
  expect_parity("float32", world, schedule);
}

INSTANTIATE_TEST_SUITE_P(Worlds, RecomputeParity, ::testing::ValuesIn(worlds_and_schedules(4)), name_of);

using RecomputeDtypes = RecomputeParity;

TEST_P(RecomputeDtypes, InOtherPrecisions) {
  const auto& [world, schedule] = GetParam();
  for (const char* dtype : {"float64", "bfloat16", "mixed"}) expect_parity(dtype, world, schedule);
}

INSTANTIATE_TEST_SUITE_P(Few, RecomputeDtypes,
                         ::testing::Values(WorldAndSchedule{1, "1f1b"}, WorldAndSchedule{2, "zb-h1"},
                                           WorldAndSchedule{3, "1f1b"}, WorldAndSchedule{2, "zb-v"}),
                         name_of);

}  // namespace
}  // namespace plumbline
