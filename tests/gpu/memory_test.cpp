// SPDX-License-Identifier: BSD-3-Clause
// Memory on one GPU: every placement of ranks there satisfies the activation memory model, and running out of memory is
// reported.
#include "pipeline/memory.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "harness/judge/judge.hpp"
#include "tests/ended.hpp"
#include "tests/gpu/assigned_gpus.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "training/gpu/gpu_check.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class OneGpuMemory : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string why = why_not_on_gpus(1);
    if (!why.empty()) GTEST_SKIP() << "skipped because " << why;
  }

  std::string run_file(const std::string& dtype) const {
    const auto path = folder_ / (dtype + ".toml");
    std::ofstream(path) << "[model]\nconfig = \"" + fixtures_path() + "/models/stories260k/config.json\"\n"
                        << "[data]\ntext = \"" + fixtures_path() + "/corpus/\"\nlengths = [48, 17, 32, 1]\nbatch = 2\n"
                        << "masked = [2]\n[train]\nsteps = 2\nlearning_rate = 1e-3\nclip_norm = 1.0\ndtype = \""
                        << dtype << "\"\n";
    return path.string();
  }

  /// Runs it and requires success; returns the record.
  std::filesystem::path trained(const std::string& command, const std::string& name) const {
    const auto record = folder_ / name;
    const Ended ended = end_of(command + " --quiet --device cuda --record " + record.string(), folder_.path());
    EXPECT_EQ(ended.code, 0) << ended.output;
    return record;
  }

  static CheckResult memory_of(const std::filesystem::path& reference, const std::filesystem::path& candidate) {
    for (const auto& check : judge_cell(CellPlan{}, reference, candidate).checks) {
      if (check.name == "memory") return check;
    }
    throw std::logic_error("no memory check");
  }

  void expect_the_law_to_hold(const std::filesystem::path& reference, const std::filesystem::path& candidate) const {
    const CheckResult memory = memory_of(reference, candidate);
    EXPECT_EQ(to_text(memory.outcome), "holds") << candidate << ": " << memory.reason;
    EXPECT_GT(memory.compared.at("gpu_rows"), 0);
    EXPECT_GT(memory.inspected.at("saved_cells"), 0);
    // For a process with a GPU, only this is left out.
    EXPECT_THAT(memory.reason,
                ::testing::ContainsRegex("not inspected: growth of the processes' private memory [(][^()]*[)]$"));
    EXPECT_THAT(memory.measured, HasSubstr("requested from the allocator"));
  }

  /// A fraction of the first visible GPU.
  static std::string fraction_of_gpu(double bytes) {
    const Json devices = gpu_capabilities().at("devices");
    return std::to_string(bytes / devices.at(0).at("total_bytes").get<double>());
  }

  const std::string reference_ = bin_path() + "/plumbline-reference ";
  const std::string pipeline_ = bin_path() + "/plumbline-pipeline ";
  const std::string two_ranks_ = PLUMBLINE_MPI_LAUNCHER " -n 2 ";
  TemporaryFolder folder_;
};

TEST_P(OneGpuMemory, MatchesTheActivationMemoryModel) {
  const std::string run = run_file(GetParam());
  const auto reference = trained(reference_ + run, "reference");

  for (const std::string schedule : {"afab", "1f1b", "interleaved-1f1b", "zb-h1", "zb-v"}) {
    expect_the_law_to_hold(reference, trained(pipeline_ + run + " --transport threads --ranks 2 --schedule " + schedule,
                                              "threads-" + schedule));
    expect_the_law_to_hold(reference, trained(two_ranks_ + pipeline_ + run + " --transport mpi --schedule " + schedule,
                                              "mpi-" + schedule));
  }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, OneGpuMemory, ::testing::Values("float32", "bfloat16"),
                         [](const auto& tested) { return tested.param; });

class OutOfGpuMemory : public OneGpuMemory {};

// PyTorch's own limit for a process makes it certain on any GPU: cuBLAS's workspaces (33 MiB) fit, the state of the
// model (more than 100 MiB per rank) does not.
TEST_F(OutOfGpuMemory, NamesRankRequestAndPlan) {
  const std::string limited =
      "PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:" + fraction_of_gpu(80.0 * (1 << 20)) + " ";
  const std::string run = fixtures_path() + "/runs/large-state.toml --device cuda --quiet --record ";
  const auto words = AllOf(HasSubstr("out of GPU memory"), ContainsRegex("Tried to allocate [0-9.]+ .iB"),
                           ContainsRegex("plan(| for .*) is at least [0-9.]+ .iB: parameters"));

  const Ended one = end_of(limited + reference_ + run + (folder_ / "one").string(), folder_.path());
  EXPECT_EQ(one.code, 1);
  EXPECT_THAT(one.output, words);

  for (const std::string& command : {pipeline_ + " --transport threads --ranks 2 ", two_ranks_ + pipeline_}) {
    const Ended two = end_of(limited + command + run + (folder_ / "two").string(), folder_.path());
    EXPECT_EQ(two.code, 1) << command;
    EXPECT_THAT(two.output,
                AllOf(words, ContainsRegex("(rank [01]'s plan|the plan for (rank [01]|all 2 ranks)) is at least")))
        << command;
    std::filesystem::remove_all(folder_ / "two");
  }
}

}  // namespace
}  // namespace plumbline::testing
