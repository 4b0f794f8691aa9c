// SPDX-License-Identifier: BSD-3-Clause
// Assignment of GPUs to ranks on made-up nodes.
#include <gmock/gmock.h>

#include "pipeline/gpu_ranks.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

GpuDevice gpu(const std::string& uuid, const std::string& name = "NVIDIA H200", int capability = 90) {
  return {name, uuid, capability, std::int64_t{1} << 37};
}

std::string refusal(const std::vector<RankGpus>& ranks, GpuSharing sharing = {}) {
  try {
    assign_gpus(ranks, sharing);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(GpuAssignment, AssignsANodesGpusInRankOrder) {
  const RankGpus a{"a", {gpu("a0"), gpu("a1")}}, b{"b", {gpu("b0"), gpu("b1")}};

  EXPECT_THAT(assign_gpus({a, a, b, b}, {}), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(assign_gpus({a, b, a, b}, {}), ElementsAre(0, 0, 1, 1));
}

// srun --gpus-per-task=1: each process sees one GPU, as number 0, and no other rank sees it.
TEST(GpuAssignment, UsesTheSchedulersAssignment) {
  EXPECT_THAT(assign_gpus({{"a", {gpu("a0")}}, {"a", {gpu("a1")}}, {"a", {gpu("a2")}}}, {}), ElementsAre(0, 0, 0));
}

TEST(GpuAssignment, RefusesMoreRanksThanGpusAndNamesTheNode) {
  const RankGpus a{"a", {gpu("a0"), gpu("a1")}}, b{"b", {gpu("b0")}};

  EXPECT_THAT(refusal({a, a, b, b}), AllOf(HasSubstr("b has 1 GPU for 2 ranks"), HasSubstr("host file")));
  EXPECT_THAT(refusal({a, a, {"c", {}}}), HasSubstr("c has 0 GPUs for 1 rank;"));
  EXPECT_EQ(refusal({a, a, b}), "");
}

TEST(GpuAssignment, SharesGpusRoundRobin) {
  const RankGpus a{"a", {gpu("a0"), gpu("a1")}};

  EXPECT_THAT(assign_gpus({a, a, a, a, a}, {.several_ranks_per_gpu = true}), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(refusal({{"c", {}}}, {.several_ranks_per_gpu = true}), HasSubstr("c has 0 GPUs"));
}

TEST(GpuAssignment, RefusesMixedModelsUnlessRequested) {
  const std::vector<RankGpus> ranks{{"a", {gpu("a0")}}, {"b", {gpu("b0", "NVIDIA A100", 80)}}};

  EXPECT_THAT(refusal(ranks),
              AllOf(HasSubstr("NVIDIA A100 (compute capability 8.0) on rank 1 of b"),
                    HasSubstr("NVIDIA H200 (compute capability 9.0) on rank 0 of a"), HasSubstr("--mixed-gpus")));
  EXPECT_EQ(refusal(ranks, {.mixed_models = true}), "");
}

TEST(GpuAssignment, IgnoresModelsOfUnusedGpus) {
  const RankGpus a{"a", {gpu("a0"), gpu("a1"), gpu("a2", "NVIDIA T400", 75)}};

  EXPECT_THAT(assign_gpus({a, a}, {}), ElementsAre(0, 1));
}

TEST(GpuAssignment, ListsEachUsedModelOnce) {
  const RankGpus mixed{"a", {gpu("a0"), gpu("a1", "NVIDIA A100", 80), gpu("a2", "NVIDIA L4", 89)}};

  EXPECT_THAT(models_used({mixed, mixed, mixed}, {1, 0, 1}), ElementsAre("NVIDIA A100", "NVIDIA H200"));
}

TEST(GpuAssignment, SerializationRoundTrips) {
  const RankGpus sent{"node-1", {gpu("GPU-1"), gpu("GPU-2", "NVIDIA A100-SXM4-80GB", 80)}};

  const RankGpus parsed = parse_rank_gpus(to_text(sent));

  EXPECT_EQ(parsed.host, "node-1");
  ASSERT_EQ(parsed.devices.size(), 2u);
  EXPECT_EQ(parsed.devices[1].name, "NVIDIA A100-SXM4-80GB");
  EXPECT_EQ(parsed.devices[1].uuid, "GPU-2");
  EXPECT_EQ(parsed.devices[1].capability, 80);
  EXPECT_EQ(parsed.devices[1].total_bytes, std::int64_t{1} << 37);
  EXPECT_THROW(parse_rank_gpus("nonsense"), RunError);
}

TEST(GpuAssignment, NcclNeedsTheDefaultAllocator) {
  EXPECT_EQ(why_nccl_cannot_receive("max_split_size_mb:512,expandable_segments:False"), "");
  EXPECT_EQ(
      why_nccl_cannot_receive("max_split_size_mb:512,expandable_segments:True"),
      "expandable_segments:True lets LibTorch take memory back while the GPU still computes with what NCCL received "
      "into it: unset expandable_segments, or use --transport mpi");
  EXPECT_THAT(why_nccl_cannot_receive("backend:cudaMallocAsync"), HasSubstr("unset backend"));
}

TEST(GpuAssignment, TwoRanksPerGpuNeedANewNcclAndItsVariable) {
  EXPECT_THAT(why_nccl_needs_one_gpu_a_rank(22809, true), HasSubstr("NCCL 2.28.9 refuses two ranks on one GPU"));
  EXPECT_THAT(why_nccl_needs_one_gpu_a_rank(23003, false), HasSubstr("NCCL_MULTI_RANK_GPU_ENABLE=1"));
  EXPECT_EQ(why_nccl_needs_one_gpu_a_rank(23003, true), "");
  EXPECT_EQ(why_nccl_needs_one_gpu_a_rank(23203, true), "");
}

}  // namespace
}  // namespace plumbline
