// SPDX-License-Identifier: BSD-3-Clause
// The units of a model, in their order: the embedding, the layers, the norm, the head.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.hpp"

namespace plumbline {

enum class UnitKind : std::uint8_t { embedding, layer, norm, head };

struct Unit {
  UnitKind kind = UnitKind::embedding;
  std::int64_t layer = 0;  ///< which one, of a layer

  friend bool operator==(const Unit&, const Unit&) = default;
};

/// Units [first, end) in unit_names() order.
struct UnitRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool empty() const { return first == end; }
  std::int64_t size() const { return end - first; }
};

/// "embed_tokens", "layers.0" ... "layers.L-1", "norm", "lm_head".
std::vector<std::string> unit_names(const LlamaConfig& config);
std::int64_t unit_count(const LlamaConfig& config);
UnitRange all_units(const LlamaConfig& config);
/// By its number in unit_names(). Throws std::logic_error for a number that the model does not have.
Unit unit_at(const LlamaConfig& config, std::int64_t number);
/// Whether a unit of this kind is among `units`; of layers, any.
bool holds(const LlamaConfig& config, UnitRange units, UnitKind kind);
/// How many of `units` are layers.
std::int64_t layers_in(const LlamaConfig& config, UnitRange units);

}  // namespace plumbline
