// SPDX-License-Identifier: BSD-3-Clause
// Layers recomputed in the backward pass, under every schedule. They are bit-identical to a reference that saves their
// activations, and judged against a reference that recomputes too, with the activation memory model.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/paths.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/pipeline/references.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// Tied, with five layers; four microbatches of unequal lengths, one of them masked.
fs::path recompute_run(const fs::path& folder, const std::string& recompute, const std::string& dtype) {
  const fs::path path = folder / (recompute + "-" + dtype + ".toml");
  std::ofstream(path) << "[model]\nconfig = \"" + testing::fixtures_path() +
                             "/models/stories260k/config.json\"\n[data]\ntext = \"" + testing::fixtures_path() +
                             "/corpus/\"\nlengths = [16, 9, [16, 5], 1]\nbatch = 2\nmasked = [1]\n[train]\nsteps = 2\n"
                             "learning_rate = 1e-3\nclip_norm = 3.7\ndtype = \""
                      << dtype << "\"\nrecompute = \"" << recompute << "\"\n";
  return path;
}

class RecomputeParity : public SharedReferences {
 protected:
  static fs::path recorded_reference(const std::string& recompute, const std::string& dtype) {
    return recorded(recompute + dtype, [&](const fs::path& folder) { return recompute_run(folder, recompute, dtype); });
  }

  static void expect_parity(const std::string& dtype) {
    const auto& [world, schedule] = GetParam();
    const testing::TemporaryFolder own;
    const fs::path record = own.path() / "r";
    ASSERT_EQ(train_pipeline(options(recompute_run(own.path(), "layer", dtype), record, world, schedule)), 0);
    const auto compared = expect_same_bits(read_record(recorded_reference("none", dtype)), read_record(record));
    EXPECT_EQ(compared.at("gradient"), 2 * 48);
    expect_judged(GetParam(), recorded_reference("layer", dtype), record, {"memory"});
  }
};

TEST_P(RecomputeParity, InFloat32) {
  expect_parity("float32");
}

INSTANTIATE_TEST_SUITE_P(Worlds, RecomputeParity, ::testing::ValuesIn(worlds_and_schedules(4)), name_of);

using RecomputeDtypes = RecomputeParity;

TEST_P(RecomputeDtypes, InOtherPrecisions) {
  for (const char* dtype : {"float64", "bfloat16", "mixed"}) expect_parity(dtype);
}

INSTANTIATE_TEST_SUITE_P(Few, RecomputeDtypes,
                         ::testing::Values(WorldAndSchedule{1, "1f1b"}, WorldAndSchedule{2, "zb-h1"},
                                           WorldAndSchedule{3, "1f1b"}, WorldAndSchedule{2, "zb-v"}),
                         name_of);

}  // namespace
}  // namespace plumbline
