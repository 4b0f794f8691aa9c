// SPDX-License-Identifier: BSD-3-Clause
// All stages on one GPU, ranks as threads: bit-identical to the reference on that GPU, for every schedule, in both
// dtypes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>

#include "reference/trainer.hpp"
#include "schedule/action.hpp"
#include "schedule/schedule.hpp"
#include "support/error.hpp"
#include "support/json.hpp"
#include "tests/gpu/assigned_gpus.hpp"
#include "tests/paths.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

const std::string fixtures = testing::fixtures_path();

/// Microbatches of different lengths, one masked, clipping on; a head size that the flash kernel supports.
std::filesystem::path run_of(const std::filesystem::path& folder, const std::string& dtype) {
  std::ofstream(folder / "run.toml") << "[model]\nconfig = \"" << fixtures << "/models/stories260k/config.json\"\n"
                                     << "[data]\ntext = \"" << fixtures
                                     << "/corpus/\"\nlengths = [48, 17, 32, 1]\nbatch = 2\nmasked = [2]\n"
                                     << "[train]\nsteps = 2\nlearning_rate = 1e-3\nclip_norm = 1.0\ndtype = \"" << dtype
                                     << "\"\n";
  return folder / "run.toml";
}

struct Reference {
  testing::TemporaryFolder folder;
  Record record;
};

/// One per dtype, trained when first used.
const Reference& reference_of(const std::string& dtype) {
  static std::map<std::string, std::unique_ptr<Reference>>& made =
      *new std::map<std::string, std::unique_ptr<Reference>>;
  auto& one = made[dtype];
  if (!one) {
    one = std::make_unique<Reference>();
    ReferenceOptions options;
    options.run_file = run_of(one->folder.path(), dtype);
    options.record = one->folder.path() / "reference";
    options.device = "cuda";
    options.progress = false;
    options.command = {"test"};
    train_reference(options);
    one->record = read_record(options.record);
  }
  return *one;
}

using Case = std::tuple<std::string, int, std::string>;  // schedule, world, dtype

std::vector<Case> cases() {
  std::vector<Case> fitting;
  for (const std::string& schedule : schedule_names()) {
    for (const int world : {1, 2, 4, 8}) {
      try {
        make_schedule(schedule, world, 4, default_chunks(schedule));
      } catch (const InputError&) {
        continue;
      }
      for (const char* dtype : {"float32", "bfloat16"}) fitting.emplace_back(schedule, world, dtype);
    }
  }
  return fitting;
}

/// Checks that the times are the GPU's.
void expect_one_computation_after_the_other(const Record& record) {
  EXPECT_EQ(record.manifest.action_times, "gpu");
  for (const RankRecord& rank : record.ranks) {
    std::int64_t last_end_ns = 0;
    for (const ActionRow& row : rank.actions) {
      const auto action = parse_action(row.action);
      if (!action || !is_compute(action->type)) continue;
      EXPECT_GE(row.start_ns, last_end_ns) << row.action;
      EXPECT_GT(row.end_ns, row.start_ns) << row.action;
      last_end_ns = row.end_ns;
    }
  }
}

class OneGpu : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const std::string why = testing::why_not_on_gpus(1);
    if (!why.empty()) GTEST_SKIP() << "skipped because " << why;
  }
};

TEST_P(OneGpu, MatchesTheReference) {
  const auto& [schedule, world, dtype] = GetParam();
  const Reference& reference = reference_of(dtype);
  const testing::TemporaryFolder folder;
  PipelineOptions requested = options(run_of(folder.path(), dtype), folder.path() / "r", world, schedule);
  requested.device = "cuda";

  ASSERT_EQ(train_pipeline(requested), 0);

  const Record candidate = read_record(folder.path() / "r");
  auto compared = expect_same_bits(reference.record, candidate);
  EXPECT_EQ(compared["loss"], 2 * 4);
  EXPECT_GT(compared["gradient"], 0);
  EXPECT_GT(compared["parameter"], 0);
  if (world > 1) {
    EXPECT_GT(compared["boundary"], 0);
  }
  expect_one_computation_after_the_other(reference.record);
  expect_one_computation_after_the_other(candidate);
  EXPECT_EQ(candidate.manifest.device, "cuda");
  EXPECT_EQ(candidate.manifest.json.at("environment").at("attention"), dtype == "float32" ? "math" : "flash");
  EXPECT_EQ(candidate.manifest.json.at("machine").at("gpus").size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Schedules, OneGpu, ::testing::ValuesIn(cases()), [](const auto& tested) {
  std::string name =
      std::get<0>(tested.param) + "_w" + std::to_string(std::get<1>(tested.param)) + "_" + std::get<2>(tested.param);
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace plumbline
