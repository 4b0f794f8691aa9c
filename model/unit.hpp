// SPDX-License-Identifier: BSD-3-Clause
// The units of a model in order: embedding, layers, norm, head.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.hpp"

namespace plumbline {

/// `attention` (norm, attention, residual connection) and `mlp` (the same around the MLP) are the halves of a layer,
/// which can be recomputed separately (train.recompute). They are not units.
enum class UnitKind : std::uint8_t { embedding, layer, attention, mlp, norm, head };

struct Unit {
  UnitKind kind = UnitKind::embedding;
  std::int64_t layer = 0;  ///< index, of a layer or half

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
/// The unit with this index in unit_names(). Throws std::logic_error if the model has no such unit.
Unit unit_at(const LlamaConfig& config, std::int64_t number);
/// Number of units of this kind in `units`.
std::int64_t count(const LlamaConfig& config, UnitRange units, UnitKind kind);
/// Whether `units` contains a unit of this kind.
bool holds(const LlamaConfig& config, UnitRange units, UnitKind kind);

}  // namespace plumbline
