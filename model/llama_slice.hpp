// SPDX-License-Identifier: BSD-3-Clause
// A contiguous run of the model's units: the reference holds all of them, a pipeline stage its own, an empty stage
// none.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "model/config.hpp"
#include "model/decoder_layer.hpp"
#include "model/linear.hpp"
#include "model/parameter.hpp"
#include "model/rope.hpp"
#include "model/unit.hpp"

namespace plumbline {

class LlamaSlice {
 public:
  /// Creates the parameters of these units only, uninitialised and without gradients. `dtype`: kFloat, kDouble or
  /// kBFloat16, of parameters, gradients and activations alike. Throws std::logic_error for a range that is no part of
  /// the model, or another dtype.
  LlamaSlice(const LlamaConfig& config, UnitRange units, at::ScalarType dtype, at::Device device = at::kCPU);

  /// For mixed precision, before allocate_gradients(): float32 masters, without values yet, beside values in bfloat16.
  void keep_masters();
  /// All copies anew from their masters; nothing where there are none.
  void round_masters() const;
  /// Gives every parameter its zeroed gradient, so that a first backward adds in place as all later ones do. Apart from
  /// the constructor, so that a caller can account for values and gradients separately. Gradients that exist are kept.
  /// Of parameters with masters: float32 sums of what backward passes give.
  void allocate_gradients();
  /// Makes the RoPE tables for rows of up to this many tokens, shared by all layers and held for the slice's life. Call
  /// before the first forward; never made within one. A slice without layers needs none and makes none. `made_in`: the
  /// tables of a model of this dtype, taken over exactly where the slice's own is wider.
  void prepare_tables(std::int64_t longest_sequence, std::optional<at::ScalarType> made_in = std::nullopt);

  const LlamaConfig& config() const { return config_; }
  UnitRange units() const { return units_; }
  /// In canonical order.
  std::vector<Parameter>& parameters() & { return parameters_; }
  const std::vector<Parameter>& parameters() const& { return parameters_; }
  std::vector<Parameter>& parameters() && = delete;  // they would die with the slice before a loop's first turn

  /// One unit, by its number in unit_names(). embed_tokens: ids int64 [batch, sequence] -> [batch, sequence, hidden]; a
  /// layer and norm keep [batch, sequence, hidden]; lm_head -> logits [batch, sequence, vocabulary]. Positions count
  /// from 0 in each row. Throws std::logic_error for a unit not held, and for rows longer than the tables.
  at::Tensor forward_unit(std::int64_t unit, const at::Tensor& input) const;

 private:
  LlamaConfig config_;
  UnitRange units_;
  at::TensorOptions options_;  ///< dtype and device
  std::vector<Parameter> parameters_;
  at::Tensor embedding_;
  std::vector<DecoderLayer> layers_;  ///< those held
  std::int64_t first_layer_ = 0;      ///< number of layers_[0] in the model
  at::Tensor norm_;
  LinearWeights head_;
  RopeTables tables_;
};

}  // namespace plumbline
