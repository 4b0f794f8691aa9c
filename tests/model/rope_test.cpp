// SPDX-License-Identifier: BSD-3-Clause
#include "model/rope.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/model/models.hpp"

namespace plumbline {
namespace {

using testing::small_config;

// The golden of a llama3 model fixes every bit; these tests fix what each table means.
TEST(RopeTables, HoldTheAngleOfEachPosition) {
  const LlamaConfig config = small_config();

  const RopeTables tables = make_rope_tables(config, 10, at::kDouble);

  ASSERT_EQ(tables.cos.sizes(), at::IntArrayRef({10, 8}));
  for (std::int64_t position = 0; position < 10; ++position) {
    for (std::int64_t i = 0; i < 8; ++i) {
      const double angle = static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(i % 4) / 4.0);
      // a few roundings of fp64, angles below 10
      EXPECT_NEAR(tables.cos[position][i].item<double>(), std::cos(angle), 1e-14);
      EXPECT_NEAR(tables.sin[position][i].item<double>(), std::sin(angle), 1e-14);
    }
  }
}

TEST(RopeTables, Llama3KeepsBlendsAndDividesByWavelength) {
  Json scaling = Json::parse(R"({"rope_type": "llama3", "rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0,
                                 "high_freq_factor": 4.0, "original_max_position_embeddings": 64})");
  const LlamaConfig config = small_config({{"rope_parameters", scaling}});

  const RopeTables tables = make_rope_tables(config, 2, at::kDouble);

  // Wavelengths of theta^(0, 1/4, 1/2, 3/4): 6.3 is below 64/4: kept; 62.8 is between 16 and 64: blended; 628 and 6283:
  // divided.
  const double middle = 2 * std::numbers::pi * 10.0;
  const double smooth = (64 / middle - 1) / (4 - 1);
  const double expected[] = {1.0, (1 - smooth) * 0.1 / 8 + smooth * 0.1, 0.01 / 8, 0.001 / 8};
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(tables.sin[1][i].item<double>(), std::sin(expected[i]), 1e-14) << i;
  }
}

/// The second frequency, of wavelength 62.8, for several factors.
struct Scaled {
  double factor, low, high, context;
  double second;  ///< expected from 0.1
};

// All published Llamas have the factors 1 and 4; the config may have others.
TEST(RopeTables, Llama3TakesEveryFactorOfTheConfig) {
  const double wavelength = 2 * std::numbers::pi * 10.0, smooth = (128 / wavelength - 1.5) / (8 - 1.5);
  for (const Scaled& scaled : {Scaled{32, 2, 2.5, 100, 0.1 / 32},  // beyond 100 / 2: divided
                               Scaled{32, 1, 1.25, 100, 0.1},      // below 100 / 1.25: kept
                               Scaled{32, 1.5, 8, 128, (1 - smooth) * 0.1 / 32 + smooth * 0.1}}) {
    const LlamaConfig config = small_config({{"rope_parameters",
                                              {{"rope_type", "llama3"},
                                               {"rope_theta", 10000.0},
                                               {"factor", scaled.factor},
                                               {"low_freq_factor", scaled.low},
                                               {"high_freq_factor", scaled.high},
                                               {"original_max_position_embeddings", scaled.context}}}});

    const RopeTables tables = make_rope_tables(config, 2, at::kDouble);

    const double expected[] = {1.0, scaled.second, 0.01 / 32, 0.001 / 32};
    for (std::int64_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(tables.sin[1][i].item<double>(), std::sin(expected[i]), 1e-14) << scaled.context << " " << i;
    }
  }
}

TEST(RopeTables, ShorterRowsSeeTheSameNumbers) {
  const LlamaConfig config = small_config();
  const RopeTables longer = make_rope_tables(config, 50, at::kFloat);

  const RopeTables cut = first_positions(longer, 7);

  const RopeTables own = make_rope_tables(config, 7, at::kFloat);
  EXPECT_TRUE(at::equal(cut.cos, own.cos));
  EXPECT_TRUE(at::equal(cut.sin, own.sin));
}

TEST(RopeTables, OfBfloat16AreRoundedFloat32Tables) {
  const RopeTables tables = make_rope_tables(small_config(), 400, at::kBFloat16);

  const RopeTables wide = make_rope_tables(small_config(), 400, at::kFloat);
  EXPECT_TRUE(at::equal(tables.cos, wide.cos.to(at::kBFloat16)));
  EXPECT_TRUE(at::equal(tables.sin, wide.sin.to(at::kBFloat16)));
}

TEST(ApplyRope, TurnsEachPairByItsAngle) {
  const RopeTables tables = make_rope_tables(small_config(), 3, at::kDouble);

  const at::Tensor turned = apply_rope(at::ones({1, 1, 3, 8}, at::kDouble), tables);

  const double angle = 2 * 0.1;  // position 2, second pair: elements 1 and 5
  EXPECT_NEAR(turned[0][0][2][1].item<double>(), std::cos(angle) - std::sin(angle), 1e-14);
  EXPECT_NEAR(turned[0][0][2][5].item<double>(), std::cos(angle) + std::sin(angle), 1e-14);
}

}  // namespace
}  // namespace plumbline
