// SPDX-License-Identifier: BSD-3-Clause
#include "tests/goldens/golden_demand.hpp"

#include <gtest/gtest.h>
#include <torch/headeronly/version.h>

namespace plumbline {
namespace {

TEST(GoldenDemand, RequiresBitsOnlyOnTheSameCodePath) {
  const Json machine = Json::parse(
      R"({"cpu_vendor": "AuthenticAMD", "cpu_family": 25, "cpu_model_number": 17, "aten_capability": "AVX512",
                                       "mkl_version": "2024.2"})");
  const Json golden{{"torch", {"1.0.0", TORCH_VERSION}}, {"machine", machine}};
  const Json calm{{"MKL_CBWR", nullptr}};
  EXPECT_TRUE(golden_demand(golden, machine, calm, "golden.json").bits);

  for (const auto& item : machine.items()) {
    Json other = machine;
    other[item.key()] = "another";
    EXPECT_FALSE(golden_demand(golden, other, calm, "golden.json").bits) << item.key();
    Json unsaid = golden;
    unsaid["machine"].erase(item.key());
    EXPECT_FALSE(golden_demand(unsaid, machine, calm, "golden.json").bits) << item.key();
  }
  Json other_torch = golden;
  other_torch["torch"] = "2.10.0";
  EXPECT_FALSE(golden_demand(other_torch, machine, calm, "golden.json").bits);
  EXPECT_FALSE(golden_demand(golden, machine, {{"MKL_CBWR", "COMPATIBLE"}}, "golden.json").bits);
  EXPECT_FALSE(golden_demand(nullptr, machine, calm, "golden.json").bits);
  EXPECT_FALSE(golden_demand(Json::object(), Json::object(), calm, "golden.json").bits);
}

}  // namespace
}  // namespace plumbline
