// SPDX-License-Identifier: BSD-3-Clause
// Times of points on a GPU's stream are when the GPU reaches them, not when the host records them.
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include "tests/gpu/assigned_gpus.hpp"
#include "training/action_log.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {
namespace {

TEST(GpuTimer, MeasuresWhenTheGpuReachesAPoint) {
  const std::string why = testing::why_not_on_gpus(1);
  if (!why.empty()) GTEST_SKIP() << "skipped because " << why;
  GpuSupport& gpu = load_gpu_module();
  gpu.use(0);
  const auto timer = gpu.make_timer();
  const at::Tensor one = at::ones({4096, 4096}, at::TensorOptions(at::kCUDA));
  at::Tensor product = at::mm(one, one);
  gpu.synchronize();

  const std::int64_t began_ns = monotonic_ns();
  timer->mark();
  for (int i = 0; i < 32; ++i) product = at::mm(one, one);
  const std::int64_t asked_ns = monotonic_ns() - began_ns;
  timer->mark();
  timer->mark();
  const auto before_end = timer->take();
  const std::int64_t took_ns = monotonic_ns() - began_ns;

  ASSERT_EQ(before_end.size(), 3U);
  EXPECT_GE(before_end[1], before_end[2]);
  EXPECT_GE(before_end[2], 0);
  EXPECT_LE(before_end[0], took_ns);
  EXPECT_GT(before_end[0] - before_end[1], (took_ns - asked_ns) / 2)
      << "the host queued its work within " << asked_ns << " ns";

  timer->mark();
  EXPECT_EQ(timer->take().size(), 1U) << "the earlier ones are gone";
}

}  // namespace
}  // namespace plumbline
