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
  EXPECT_EQ(count(config, all_units(config), UnitKind::layer), 3);
  EXPECT_EQ(count(config, {0, 2}, UnitKind::layer), 1);
  EXPECT_EQ(count(config, {4, 6}, UnitKind::layer), 0);
}

TEST(Unit, CountsAgreeWithTheUnitsOfEveryRange) {
  const LlamaConfig config = of_layers(3);
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
