// SPDX-License-Identifier: BSD-3-Clause
#include "model/unit.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace plumbline {
namespace {

LlamaConfig of_layers(std::int64_t layers, bool halves = false) {
  LlamaConfig config;
  config.layers = layers;
  config.halves = halves;
  return config;
}

TEST(Unit, IndicesMatchNames) {
  for (const std::int64_t layers : {1, 2, 5}) {
    const LlamaConfig config = of_layers(layers);
    const std::vector<std::string> names = unit_names(config);
    ASSERT_EQ(unit_count(config), std::ssize(names));
    EXPECT_EQ(names[0], "embed_tokens");
    EXPECT_EQ(unit_at(config, 0), Unit{UnitKind::embedding});
    for (std::int64_t number = 0; number < unit_count(config); ++number) {
      const Unit unit = unit_at(config, number);
      const std::string& name = names[static_cast<std::size_t>(number)];
      EXPECT_EQ(unit.kind == UnitKind::layer, name.starts_with("layers.")) << name;
      if (unit.kind == UnitKind::layer) {
        EXPECT_EQ(name, "layers." + std::to_string(unit.layer));
      }
      EXPECT_EQ(unit.kind == UnitKind::norm, name == "norm");
      EXPECT_EQ(unit.kind == UnitKind::head, name == "lm_head");
    }
  }
}

TEST(Unit, RefusesAnUnknownUnit) {
  EXPECT_THROW(unit_at(of_layers(2), 5), std::logic_error);
  EXPECT_THROW(unit_at(of_layers(2), -1), std::logic_error);
}

TEST(Unit, RangesContainTheirUnits) {
  const LlamaConfig config = of_layers(3);  // embedding 0, layers 1 to 3, norm 4, head 5

  EXPECT_TRUE(holds(config, {0, 2}, UnitKind::embedding));
  EXPECT_FALSE(holds(config, {1, 4}, UnitKind::embedding));
  EXPECT_FALSE(holds(config, {1, 4}, UnitKind::norm));
  EXPECT_TRUE(holds(config, {3, 6}, UnitKind::norm));
  EXPECT_TRUE(holds(config, {5, 6}, UnitKind::head));
  EXPECT_FALSE(holds(config, {2, 2}, UnitKind::layer)) << "an empty stage";
  EXPECT_EQ(layers_in(config, all_units(config)), 3);
  EXPECT_EQ(layers_in(config, {0, 2}), 1);
  EXPECT_EQ(layers_in(config, {4, 6}), 0);
}

TEST(Unit, HalvesOfALayerAreUnitsOfTheirOwn) {
  const LlamaConfig config = of_layers(2, true);

  EXPECT_THAT(unit_names(config), ::testing::ElementsAre("embed_tokens", "layers.0.attention", "layers.0.mlp",
                                                         "layers.1.attention", "layers.1.mlp", "norm", "lm_head"));
  EXPECT_EQ(unit_count(config), 7);
  EXPECT_EQ(unit_at(config, 3), (Unit{UnitKind::attention, 1}));
  EXPECT_EQ(unit_at(config, 4), (Unit{UnitKind::mlp, 1}));
  EXPECT_EQ(unit_at(config, 5), Unit{UnitKind::norm});
  const UnitRange all = all_units(config);
  for (std::int64_t first = 0; first <= all.end; ++first) {
    for (std::int64_t end = first; end <= all.end; ++end) {
      for (const UnitKind kind :
           {UnitKind::embedding, UnitKind::layer, UnitKind::attention, UnitKind::mlp, UnitKind::norm, UnitKind::head}) {
        std::int64_t counted = 0;
        for (std::int64_t number = first; number < end; ++number) counted += unit_at(config, number).kind == kind;
        EXPECT_EQ(count(config, {first, end}, kind), counted) << first << " to " << end;
      }
    }
  }
}

}  // namespace
}  // namespace plumbline
