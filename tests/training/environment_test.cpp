// SPDX-License-Identifier: BSD-3-Clause
#include "training/environment.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <gmock/gmock.h>
#include <torch/headeronly/version.h>

#include "support/commit.hpp"
#include "tests/goldens/golden_machine.hpp"

namespace plumbline {
namespace {

TEST(DeterministicSettings, AreSetAndRecorded) {
  apply_deterministic_settings();

  EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
  EXPECT_FALSE(at::globalContext().deterministicFillUninitializedMemory());
  EXPECT_EQ(at::get_num_threads(), 1);
  const at::Context& context = at::globalContext();
  EXPECT_TRUE(context.deterministicCuDNN());
  EXPECT_TRUE(context.deterministicMkldnn());
  EXPECT_FALSE(context.benchmarkCuDNN());
  EXPECT_FALSE(context.allowTF32CuDNN());
  const Json flags = environment_json();
  EXPECT_EQ(flags.at("deterministic_algorithms"), true);
  EXPECT_EQ(flags.at("fill_uninitialized_memory"), false);
  EXPECT_EQ(flags.at("tf32_cublas"), false);
  EXPECT_EQ(flags.at("bf16_reduction_cublas"), false);
  EXPECT_EQ(flags.at("attention"), "flash");
  EXPECT_EQ(flags.at("compute_threads"), 1);
#ifdef __SANITIZE_ADDRESS__
  EXPECT_EQ(flags.at("sanitizer"), "address");
#else
  EXPECT_TRUE(flags.at("sanitizer").is_null());
#endif
  EXPECT_EQ(flags.at("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
}

TEST(DeterministicSettings, KeepTheUsersDeterministicWorkspaces) {
  const auto kept = [](const char* value) {
    setenv("CUBLAS_WORKSPACE_CONFIG", value, 1);
    apply_deterministic_settings();
    return std::string(std::getenv("CUBLAS_WORKSPACE_CONFIG"));
  };
  EXPECT_EQ(kept(":16:8"), ":16:8");
  EXPECT_EQ(kept(":0:0"), ":4096:8");
}

TEST(DeterministicSettings, AllowOnlyOneAttentionKernel) {
  apply_deterministic_settings();

  const at::Context& context = at::globalContext();
  EXPECT_TRUE(context.userEnabledFlashSDP());
  EXPECT_FALSE(context.userEnabledMathSDP());
  EXPECT_FALSE(context.userEnabledMemEfficientSDP());
  EXPECT_FALSE(context.userEnabledCuDNNSDP());
  EXPECT_FALSE(context.userEnabledOverrideableSDP());
}

// On a GPU the flash kernel supports 16-bit types only.
TEST(DeterministicSettings, SelectTheAttentionKernelByDeviceAndDtype) {
  const auto chosen = [](at::DeviceType device, at::ScalarType dtype) {
    choose_attention_kernel(device, dtype);
    return environment_json().at("attention").get<std::string>();
  };
  EXPECT_EQ(chosen(at::kCUDA, at::kFloat), "math");
  EXPECT_EQ(chosen(at::kCUDA, at::kBFloat16), "flash");
  EXPECT_EQ(chosen(at::kCUDA, at::kDouble), "math");
  EXPECT_EQ(chosen(at::kCPU, at::kFloat), "flash");
}

TEST(DeterministicSettings, KeepDenormals) {
  apply_deterministic_settings();

  const volatile float smallest_normal = 1.17549435e-38F;

  EXPECT_GT(smallest_normal / 2, 0.0F);
}

/// The selected kernel supports every shape that a run may have; without a fallback it would throw.
TEST(DeterministicSettings, AttentionKernelSupportsAllShapesAndDtypes) {
  apply_deterministic_settings();

  for (const auto dtype : {at::kFloat, at::kDouble}) {
    for (const std::int64_t length : {1, 2, 33}) {
      for (const std::int64_t head_dim : {4, 8, 12, 64}) {
        at::Tensor query = at::ones({2, 4, length, head_dim}, dtype).requires_grad_();
        const at::Tensor key = at::ones({2, 2, length, head_dim}, dtype);

        const at::Tensor out = at::scaled_dot_product_attention(query, key, key, {}, 0.0, /*is_causal=*/true,
                                                                std::nullopt, /*enable_gqa=*/true);
        out.sum().backward();

        EXPECT_EQ(out.sizes(), query.sizes());
      }
    }
  }
}

TEST(Machine, IsDescribedByWhatAffectsBits) {
  const Json machine = machine_json();

  for (const char* key : {"cpu_vendor", "cpu_family", "cpu_model_number", "cpu_model", "aten_capability", "mkl_version",
                          "cores", "memory_bytes"}) {
    ASSERT_TRUE(machine.contains(key)) << key;
  }
  EXPECT_FALSE(machine.at("aten_capability").get<std::string>().empty());
  EXPECT_GT(machine.at("cores").get<int>(), 0);
  EXPECT_GT(machine.at("memory_bytes").get<std::int64_t>(), std::int64_t{1} << 28);
}

TEST(CodePath, ComparesAllPropertiesThatAffectBits) {
  const auto same = [](const Json& producer) {
    return holds_bits_of_here({{"torch", TORCH_VERSION}, {"machine", producer}});
  };
  const Json here = machine_json();
  EXPECT_TRUE(same(here));

  Json renamed = here;
  renamed["cpu_model"] = "another name of the same processor";
  renamed["cores"] = 1;
  EXPECT_TRUE(same(renamed));

  for (const char* key : {"cpu_vendor", "cpu_family", "cpu_model_number", "aten_capability", "mkl_version"}) {
    Json other = here;
    other[key] = "another";
    EXPECT_FALSE(same(other)) << key;
    other.erase(key);
    EXPECT_FALSE(same(other)) << key;
  }
}

TEST(GoldenBits, ApplyToTheNamedVersionsOfTorch) {
  const Json here = machine_json();
  Json elsewhere = here;
  elsewhere["cpu_family"] = -1;
  const Json versions = {"2.11.0", TORCH_VERSION};
  EXPECT_TRUE(holds_bits_of_here({{"torch", versions}, {"machine", here}}));
  EXPECT_FALSE(holds_bits_of_here({{"torch", {"2.10.0"}}, {"machine", here}}));
  EXPECT_FALSE(holds_bits_of_here({{"machine", here}}));

  const Json also = {{{"machine", here}}};
  const Json also_of_this_torch = {{{"machine", here}, {"torch", TORCH_VERSION}}};
  EXPECT_TRUE(holds_bits_of_here({{"torch", versions}, {"machine", elsewhere}, {"also", also}}));
  EXPECT_FALSE(holds_bits_of_here({{"torch", "2.10.0"}, {"machine", elsewhere}, {"also", also}}));
  EXPECT_TRUE(holds_bits_of_here({{"torch", "2.10.0"}, {"machine", here}, {"also", also_of_this_torch}}));
}

TEST(CodePath, DiffersIfTheEnvironmentSelectsOtherKernels) {
  const Json here = machine_json();
  for (const char* name : {"MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "ONEDNN_MAX_CPU_ISA"}) {
    EXPECT_EQ(code_path_difference(here, here, {{name, nullptr}}), "") << name;
    EXPECT_EQ(code_path_difference(here, here, {{name, "AVX2"}}),
              std::string(name) + "=\"AVX2\" in the environment selects other kernels");
  }
}

// This text distinguishes another LibTorch from the one compiled against.
TEST(Versions, AreReadFromLibTorch) {
  EXPECT_NE(at::show_config().find("TORCH_VERSION=" TORCH_VERSION), std::string::npos) << at::show_config();
}

TEST(Versions, NoteANewerMinorVersion) {
  EXPECT_TRUE(is_newer_minor(2, 16, "2.15.0"));
  EXPECT_TRUE(is_newer_minor(3, 0, "2.15.0"));
  EXPECT_FALSE(is_newer_minor(2, 15, "2.15.0"));
  EXPECT_FALSE(is_newer_minor(2, 9, "2.15.0"));
  EXPECT_EQ(versions_json().contains("libtorch_note"),
            is_newer_minor(TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR, tested_libtorch()));
}

TEST(Versions, NameLibTorchAndCompiler) {
  EXPECT_EQ(versions_json().at("libtorch").get<std::string>(), TORCH_VERSION);
  EXPECT_THAT(versions_json().at("onednn").get<std::string>(), ::testing::MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+"));
  EXPECT_NE(versions_json().at("compiler").get<std::string>().find("g++"), std::string::npos);
  EXPECT_TRUE(versions_json().contains("commit"));
}

}  // namespace
}  // namespace plumbline
