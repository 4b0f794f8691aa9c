// SPDX-License-Identifier: BSD-3-Clause
// NCCL on one GPU: a rank that sends to itself, in a group, far more than NCCL's own buffers hold.
#include <ATen/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "pipeline/transport/nccl/gpu_api.hpp"
#include "tests/gpu/assigned_gpus.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {
namespace {

class NcclSelf : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string why = testing::why_not_on_gpus(1);
    if (!why.empty()) GTEST_SKIP() << "skipped because " << why;
    open_gpus();
    cuda_ = reinterpret_cast<CudaApi* (*)()>(gpu_module_entry("plumbline_cuda_api"))();
    nccl_ = reinterpret_cast<NcclApi* (*)()>(gpu_module_entry("plumbline_nccl_api"))();
    load_gpu_module().use(0);
  }

  static bool soon(const std::function<bool()>& ended) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!ended()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  bool settled(NcclCommunicator communicator) {
    return soon([&] {
      const NcclState state = nccl_->state(communicator);
      EXPECT_NE(state.progress, NcclProgress::failed) << state.text;
      return state.progress != NcclProgress::busy;
    });
  }

  CudaApi* cuda_ = nullptr;
  NcclApi* nccl_ = nullptr;
};

TEST_F(NcclSelf, TransfersAGroup) {
  const at::Tensor sent = at::arange(std::int64_t{1} << 25, at::TensorOptions(at::kFloat).device(at::kCUDA, 0));
  const at::Tensor got = at::zeros_like(sent);
  const auto count = static_cast<std::size_t>(sent.numel());
  const NcclCommunicator communicator = nccl_->init_rank(nccl_->unique_id(), 1, 0, {"self", 0});
  ASSERT_TRUE(settled(communicator));
  const GpuStream stream = cuda_->create_stream();
  const GpuEvent made = cuda_->create_event(), arrived = cuda_->create_event();

  cuda_->record(made, cuda_->compute_stream());
  cuda_->wait(stream, made);
  nccl_->group_start();
  nccl_->send(sent.const_data_ptr(), count, NcclType::float32, 0, communicator, stream);
  nccl_->receive(got.mutable_data_ptr(), count, NcclType::float32, 0, communicator, stream);
  nccl_->group_end();
  ASSERT_TRUE(settled(communicator));
  cuda_->record(arrived, stream);
  ASSERT_TRUE(soon([&] { return cuda_->reached(arrived); }));

  EXPECT_TRUE(at::equal(sent, got));
  nccl_->finalize(communicator);
  EXPECT_TRUE(settled(communicator));
  nccl_->destroy(communicator);
  cuda_->destroy(stream);
  cuda_->destroy(made);
  cuda_->destroy(arrived);
}

TEST_F(NcclSelf, OnlyItsStreamReusesAStreamsMemory) {
  const GpuStream stream = cuda_->create_stream();
  const auto allocated = [&](bool with_stream) {
    const auto scope = with_stream ? cuda_->allocate_with(stream) : nullptr;
    return at::empty({std::int64_t{1} << 20}, at::TensorOptions(at::kFloat).device(at::kCUDA, 0));
  };
  const void* memory = allocated(true).const_data_ptr();

  EXPECT_NE(allocated(false).const_data_ptr(), memory);
  EXPECT_EQ(allocated(true).const_data_ptr(), memory);
  cuda_->destroy(stream);
}

TEST_F(NcclSelf, AnAbortLeavesTheDeviceUsable) {
  const NcclCommunicator communicator = nccl_->init_rank(nccl_->unique_id(), 1, 0, {"self", 0});
  ASSERT_TRUE(settled(communicator));

  const auto begin = std::chrono::steady_clock::now();
  nccl_->abort(communicator);

  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(at::ones({2}, at::TensorOptions().device(at::kCUDA, 0)).sum().item<float>(), 2);
}

}  // namespace
}  // namespace plumbline
