// SPDX-License-Identifier: BSD-3-Clause
// The real CUDA runtime and libnccl behind the interfaces, on a machine without a driver: every call reports the error,
// and none hangs.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <cstdlib>

#include "pipeline/transport/nccl/gpu_api.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/gpu/gpu_support.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Read before the module is loaded.
const char* const queues_of_the_user = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");

class RealLibraries : public ::testing::Test {
 protected:
  GpuSupport& support_ = load_gpu_module();
  CudaApi& cuda_ = *reinterpret_cast<CudaApi* (*)()>(gpu_module_entry("plumbline_cuda_api"))();
  NcclApi& nccl_ = *reinterpret_cast<NcclApi* (*)()>(gpu_module_entry("plumbline_nccl_api"))();
};

class WithoutADriver : public RealLibraries {
 protected:
  void SetUp() override {
    if (support_.versions().driver != 0) GTEST_SKIP() << "this machine has a driver";
  }
  template <typename Body>
  static std::string words_of(const std::string& call, const Body& body) {
    try {
      body();
    } catch (const GpuError& error) {
      EXPECT_EQ(error.call(), call);
      return error.what();
    }
    ADD_FAILURE() << call << " threw nothing";
    return "";
  }
};

// LD_LIBRARY_PATH may select another version than the header's.
TEST_F(RealLibraries, OneNcclIsInTheProcess) {
  EXPECT_THAT(loaded_libraries("libnccl.so"), SizeIs(1));
  EXPECT_GE(support_.versions().nccl_built_with, 21700);
  EXPECT_EQ(nccl_.version(), support_.versions().nccl);
  EXPECT_EQ(support_.versions().runtime / 1000, CUDART_VERSION / 1000);
}

TEST_F(RealLibraries, EachStreamHasAHardwareQueue) {
  if (queues_of_the_user != nullptr) GTEST_SKIP() << "skipped because CUDA_DEVICE_MAX_CONNECTIONS is set";
  EXPECT_STREQ(std::getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "32");
}

TEST_F(RealLibraries, IdsNeedNoGpuAndDiffer) {
  const std::string one = nccl_.unique_id(), other = nccl_.unique_id();

  EXPECT_EQ(one.size(), 128u);
  EXPECT_NE(one, other);
}

TEST_F(RealLibraries, ProfilerRangesCostNothingWithoutAProfiler) {
  EXPECT_NO_THROW(support_.end_range(support_.begin_range("0F0")));
}

TEST_F(RealLibraries, AMissingModuleEntryIsALogicError) {
  EXPECT_THROW(gpu_module_entry("plumbline_no_such_entry"), std::logic_error);
}

TEST_F(WithoutADriver, ReportsNoDevicesWithCudasReason) {
  std::string why;

  EXPECT_EQ(support_.device_count(why), 0);
  EXPECT_THAT(why, HasSubstr("driver version is insufficient"));
}

TEST_F(WithoutADriver, EveryCudaCallReportsTheMissingDriver) {
  const auto driver = HasSubstr("cudaErrorInsufficientDriver");

  EXPECT_THAT(words_of("cudaEventCreateWithFlags", [&] { cuda_.create_event(); }), driver);
  EXPECT_THAT(words_of("cudaDeviceGetStreamPriorityRange", [&] { cuda_.create_stream(); }), driver);
  EXPECT_THAT(words_of("cudaGetDeviceProperties", [&] { support_.device(0); }), driver);
}

TEST_F(WithoutADriver, ACommunicatorFailsImmediately) {
  const std::string id = nccl_.unique_id();

  for (int again = 0; again < 2; ++again) {
    EXPECT_THAT(words_of("ncclCommInitRankConfig",
                         [&] {
                           nccl_.init_rank(id, 1, 0, {"forward", 0});
                         }),
                AllOf(HasSubstr("unhandled cuda error"), HasSubstr("driver version is insufficient")));
  }
  EXPECT_THAT(words_of("ncclCommInitRankConfig", [&] { nccl_.init_rank("short", 1, 0, {}); }), HasSubstr("5 bytes"));
  EXPECT_NO_THROW(nccl_.group_start());
  EXPECT_EQ(nccl_.group_end(), NcclProgress::done);
}

}  // namespace
}  // namespace plumbline
