// SPDX-License-Identifier: BSD-3-Clause
// Replicas of the pipeline, as threads of this process, compared with one device that sums in their groups.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <string>
#include <tuple>

#include "pipeline/pipeline_plan.hpp"
#include "record/mesh.hpp"
#include "record/record.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/pipeline/references.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

/// quick.toml (tied, AdamW) with twelve microbatches, these lines in [train] and this many replicas.
std::filesystem::path run_with(const std::filesystem::path& folder, std::int64_t replicas,
                               const std::string& train = "") {
  const auto run = quick_run(folder, train + "\n[pipeline]\nreplicas = " + std::to_string(replicas) + "\n");
  std::string text = read_file(run);
  text.replace(text.find("lengths ="), text.find("batch =") - text.find("lengths ="),
               "lengths = [16, 9, [16, 5], 1, 7, 16, 12, 3, 5, 10, 8, 11]\n");
  std::ofstream(run) << text;
  return run;
}

Record reference_of(const std::filesystem::path& run, const std::filesystem::path& pipeline,
                    const std::filesystem::path& record) {
  ReferenceOptions options = reference_options(run, record);
  options.accumulation = pipeline / "replica-0" / "accumulation.csv";
  train_reference(options);
  return read_record(record);
}

using Case = std::tuple<int, int, std::string, std::string>;  // replicas, ranks, schedule, precision

class ReplicasOfPipeline : public ::testing::TestWithParam<Case> {};

TEST_P(ReplicasOfPipeline, HaveTheBitsOfOneDevice) {
  const auto& [replicas, ranks, schedule, precision] = GetParam();
  const testing::TemporaryFolder folder;
  const auto run = run_with(folder.path(), replicas, "precision = \"" + precision + "\"\n");
  const auto record = folder.path() / "pipeline";
  ASSERT_EQ(train_pipeline(options(run, record, replicas * ranks, schedule)), 0);

  const Record reference = reference_of(run, record, folder.path() / "reference");

  const RankRecord& one = reference.ranks.front();
  std::map<std::tuple<std::int64_t, std::string, std::string>, std::string> digests;
  for (const TensorRow& row : one.tensors) digests[{row.step, row.kind, row.name}] = row.digest;
  std::int64_t losses = 0, step_losses = 0;
  for (int replica = 0; replica < replicas; ++replica) {
    const Record own = read_record(record / ("replica-" + std::to_string(replica)));
    std::size_t tensors = 0;
    for (const RankRecord& rank : own.ranks) {
      for (const TensorRow& row : rank.tensors) {
        EXPECT_EQ(row.digest, (digests[{row.step, row.kind, row.name}])) << replica << row.kind << row.name << row.step;
        ++tensors;
      }
      for (const MicrobatchRow& row : rank.microbatches) {
        if (!row.loss) continue;
        const std::int64_t each = own.manifest.microbatches;
        const MicrobatchRow& same =
            one.microbatches.at(static_cast<std::size_t>(row.step * each * replicas + replica * each + row.microbatch));
        EXPECT_EQ(row.loss, same.loss) << replica << " " << row.microbatch;
        EXPECT_TRUE(row.data_digest.empty() || row.data_digest == same.data_digest);
        ++losses;
      }
      for (const StepRow& row : rank.steps) {
        const StepRow& same = one.steps.at(static_cast<std::size_t>(row.step));
        EXPECT_EQ(row.gradient_norm, same.gradient_norm);
        EXPECT_EQ(row.tokens, same.tokens);
        if (!row.loss) continue;
        EXPECT_EQ(row.loss, same.loss) << "the loss of all replicas' microbatches";
        ++step_losses;
      }
    }
    EXPECT_GE(tensors, digests.size());
  }
  EXPECT_EQ(losses, 3 * 12);
  EXPECT_EQ(step_losses, 3 * replicas);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ReplicasOfPipeline,
                         ::testing::Values(Case{2, 1, "1f1b", "float32"}, Case{2, 2, "zb-v", "mixed"},
                                           Case{3, 2, "afab", "bfloat16"}, Case{4, 3, "interleaved-1f1b", "float32"},
                                           Case{2, 7, "1f1b", "float32"}));

TEST(Replicas, RefusesNumbersThatDoNotDivide) {
  const testing::TemporaryFolder folder;
  const auto run = run_with(folder.path(), 2);
  EXPECT_THAT(testing::error_of<InputError>([&] { make_plan(load_run(run, std::nullopt), 3); }),
              HasSubstr("replicas is 2, which does not divide the 3 ranks"));
  EXPECT_THAT(testing::error_of<InputError>([&] { load_run_file(run_with(folder.path(), 5)); }),
              HasSubstr("replicas: is 5, which does not divide the 12 microbatches of a step"));
}

}  // namespace
}  // namespace plumbline
