// Test programs whose tensors lie in segments: included where the program's tests are put together.
#pragma once

#include <gtest/gtest.h>

#include "tests/strict_nccl/segment_allocator.hpp"

namespace plumbline::strict {

class SegmentEnvironment : public ::testing::Environment {
 public:
  void SetUp() override { install_segment_allocator(); }
};
/// Comes before any test suite's own set-up, and so before the first tensor.
inline ::testing::Environment* const segment_environment = ::testing::AddGlobalTestEnvironment(new SegmentEnvironment);

}  // namespace plumbline::strict
