// SPDX-License-Identifier: BSD-3-Clause
#include "model/unit.hpp"

#include <gmock/gmock.h>

#include <stdexcept>

namespace plumbline {
namespace {

LlamaConfig of_layers(std::int64_t layers) {
  LlamaConfig config;
  config.layers = layers;
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

}  // namespace
}  // namespace plumbline
