// SPDX-License-Identifier: BSD-3-Clause
// The programs started on GPUs as users do, and compared by `plumbline compare` with the reference on one GPU.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>

#include "tests/ended.hpp"
#include "tests/gpu/assigned_gpus.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {
namespace {

using testing::Ended;
using ::testing::HasSubstr;

class GpuRanks : public ::testing::Test {
 protected:
  Ended end_of(const std::string& command) const { return testing::end_of(command, folder_.path()); }
  static std::string program(const std::string& name) { return testing::bin_path() + "/" + name + " "; }
  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }

  std::string run_file(const std::string& dtype) {
    std::ofstream(folder_ / (dtype + ".toml"))
        << "[model]\nconfig = \"" + testing::fixtures_path() + "/models/stories260k/config.json\"\n"
        << "[data]\ntext = \"" + testing::fixtures_path() +
               "/corpus/\"\nlengths = [48, 17, 32, 1, 40, 24, 8, 33]\nbatch = 2\n"
        << "masked = [2]\n[train]\nsteps = 3\nlearning_rate = 1e-3\nclip_norm = 1.0\ndtype = \"" << dtype << "\"\n";
    return in_folder(dtype + ".toml");
  }

  /// Runs the reference on one GPU, then the pipeline with each schedule, in both dtypes: 0 ULP in everything compared.
  void expect_same_bits(int ranks, const std::string& transport, const std::string& environment = "") {
    for (const std::string dtype : {"float32", "bfloat16"}) {
      const std::string run = run_file(dtype), reference = in_folder("reference-" + dtype);
      const Ended one = end_of(program("plumbline-reference") + run + " --quiet --device cuda --record " + reference);
      ASSERT_EQ(one.code, 0) << one.output;
      for (const std::string schedule : {"afab", "1f1b", "interleaved-1f1b", "looped-bfs", "zb-h1", "zb-v"}) {
        const std::string record = in_folder(dtype + "-" + schedule);
        const Ended many = end_of(environment + PLUMBLINE_MPI_LAUNCHER " -n " + std::to_string(ranks) + " " +
                                  program("plumbline-pipeline") + run + " --quiet --device cuda --transport " +
                                  transport + " --schedule " + schedule + " --record " + record);
        ASSERT_EQ(many.code, 0) << schedule << ": " << many.output;
        const Ended verdict = end_of(program("plumbline") + "compare " + reference + " " + record);
        EXPECT_EQ(verdict.code, 0) << dtype << ", " << schedule << ": " << verdict.output;
      }
    }
  }
  void nccl_with_a_gpu_a_rank(int gpus) {
    const std::string why = testing::why_not_on_gpus(gpus);
    if (!why.empty()) GTEST_SKIP() << "skipped because " << why;
    expect_same_bits(gpus, "nccl");
  }

  testing::TemporaryFolder folder_;
};

TEST_F(GpuRanks, NcclWithAGpuARank2) {
  nccl_with_a_gpu_a_rank(2);
}
TEST_F(GpuRanks, NcclWithAGpuARank4) {
  nccl_with_a_gpu_a_rank(4);
}
TEST_F(GpuRanks, NcclWithAGpuARank8) {
  nccl_with_a_gpu_a_rank(8);
}

TEST_F(GpuRanks, NcclWithTwoRanksOnOneGpu) {
  const std::string why = testing::why_not_on_gpus(1);
  if (!why.empty()) GTEST_SKIP() << "skipped because " << why;
  const int nccl = load_gpu_module().versions().nccl;
  if (nccl < 23003)
    GTEST_SKIP() << "skipped because NCCL " << nccl << " is loaded, and 23003 (2.30.3) is the first that "
                 << "lets two ranks share a GPU; put a newer one in front with LD_LIBRARY_PATH";
  expect_same_bits(2, "nccl", "NCCL_MULTI_RANK_GPU_ENABLE=1 ");
}

TEST_F(GpuRanks, MpiThroughHostMemory) {
  const std::string why = testing::why_not_on_gpus(1);
  if (!why.empty()) GTEST_SKIP() << "skipped because " << why;
  expect_same_bits(2, "mpi");
}

TEST_F(GpuRanks, MoreRanksThanGpusAreRefused) {
  const std::string why = testing::why_not_on_gpus(1);
  if (!why.empty()) GTEST_SKIP() << "skipped because " << why;
  if (load_gpu_module().versions().nccl >= 23003) unsetenv("NCCL_MULTI_RANK_GPU_ENABLE");

  const Ended ended = end_of(PLUMBLINE_MPI_LAUNCHER " -n 9 " + program("plumbline-pipeline") + run_file("float32") +
                             " --quiet --device cuda --transport nccl --record " + in_folder("record"));

  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.output, HasSubstr("for 9 ranks"));
}

}  // namespace
}  // namespace plumbline
