// SPDX-License-Identifier: BSD-3-Clause
// The settings that a trainer's main makes before its first tensor.
#include <gtest/gtest.h>

#include "training/environment.hpp"
#include "training/memory_meter.hpp"

namespace {

class TrainerSettings : public ::testing::Environment {
 public:
  void SetUp() override {
    plumbline::install_memory_meter();
    plumbline::apply_deterministic_settings();
  }
};

[[maybe_unused]] const auto* const environment = ::testing::AddGlobalTestEnvironment(new TrainerSettings);

}  // namespace
