// SPDX-License-Identifier: BSD-3-Clause
#include "model/unit.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace plumbline {
namespace {

constexpr std::int64_t first_layer = 1;  // after the embedding

std::int64_t norm_of(const LlamaConfig& config) {
  return first_layer + config.layers;
}

bool contains(UnitRange units, std::int64_t number) {
  return number >= units.first && number < units.end;
}

}  // namespace

std::vector<std::string> unit_names(const LlamaConfig& config) {
  std::vector<std::string> names{"embed_tokens"};
  for (std::int64_t layer = 0; layer < config.layers; ++layer) names.push_back("layers." + std::to_string(layer));
  names.push_back("norm");
  names.push_back("lm_head");
  return names;
}

std::int64_t unit_count(const LlamaConfig& config) {
  return norm_of(config) + 2;
}

UnitRange all_units(const LlamaConfig& config) {
  return {0, unit_count(config)};
}

Unit unit_at(const LlamaConfig& config, std::int64_t number) {
  if (!contains(all_units(config), number)) {
    throw std::logic_error("unit " + std::to_string(number) + " is none of the model's " +
                           std::to_string(unit_count(config)));
  }
  if (number == 0) return {UnitKind::embedding};
  if (number == norm_of(config)) return {UnitKind::norm};
  if (number > norm_of(config)) return {UnitKind::head};
  return {UnitKind::layer, number - first_layer};
}

std::int64_t count(const LlamaConfig& config, UnitRange units, UnitKind kind) {
  switch (kind) {
    case UnitKind::embedding:
      return contains(units, 0) ? 1 : 0;
    case UnitKind::norm:
      return contains(units, norm_of(config)) ? 1 : 0;
    case UnitKind::head:
      return contains(units, norm_of(config) + 1) ? 1 : 0;
    case UnitKind::layer:
      return std::max<std::int64_t>(0, std::min(units.end, norm_of(config)) - std::max(units.first, first_layer));
    default:
      return 0;
  }
}

bool holds(const LlamaConfig& config, UnitRange units, UnitKind kind) {
  return count(config, units, kind) > 0;
}

}  // namespace plumbline
