// SPDX-License-Identifier: BSD-3-Clause
// A contiguous range of the model's units: all of them in the reference, one stage's in a pipeline, none in an empty
// stage.
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
  /// Creates the parameters of these units only, uninitialized and without gradients. `dtype` (kFloat, kDouble or
  /// kBFloat16) is that of parameters, gradients and activations. Throws std::logic_error for a range outside the model
  /// or another dtype.
  LlamaSlice(const LlamaConfig& config, UnitRange units, at::ScalarType dtype, at::Device device = at::kCPU);

  /// For mixed precision, before allocate_gradients(): adds uninitialized float32 masters to the bfloat16 values.
  void keep_masters();
  /// Rounds all masters to their copies; does nothing without masters.
  void round_masters() const;
  /// Gives every parameter a zeroed gradient, so that the first backward pass accumulates in place like all later ones;
  /// for parameters with masters, a float32 sum. All are in one buffer, except those whose size would leave the next
  /// one unaligned. Separate from the constructor, so that callers can account for values and gradients separately.
  /// Existing gradients are kept.
  void allocate_gradients();
  /// Makes the RoPE tables for rows of up to this many tokens; all layers share them. Call before the first forward
  /// pass. Does nothing in a slice without attention. `made_in`: dtype in which the tables are computed, converted
  /// exactly if the slice's dtype is wider.
  void prepare_tables(std::int64_t longest_sequence, std::optional<at::ScalarType> made_in = std::nullopt);

  const LlamaConfig& config() const { return config_; }
  UnitRange units() const { return units_; }
  /// In canonical order.
  std::vector<Parameter>& parameters() & { return parameters_; }
  const std::vector<Parameter>& parameters() const& { return parameters_; }
  std::vector<Parameter>& parameters() && = delete;  // they would be destroyed with the slice before the loop body runs

  /// Runs one unit, given by its index in unit_names(). embed_tokens: ids int64 [batch, sequence] -> [batch, sequence,
  /// hidden]; layers and norm keep [batch, sequence, hidden]; lm_head -> logits [batch, sequence, vocabulary].
  /// Positions start at 0 in each row. Throws std::logic_error for a unit not held and for rows longer than the tables.
  at::Tensor forward_unit(std::int64_t unit, const at::Tensor& input) const;
  /// The same, also for half of a layer.
  at::Tensor forward(Unit unit, const at::Tensor& input) const;

 private:
  LlamaConfig config_;
  UnitRange units_;
  at::TensorOptions options_;  ///< dtype and device
  std::vector<Parameter> parameters_;
  at::Tensor embedding_;
  std::vector<DecoderLayer> layers_;
  std::int64_t first_layer_ = 0;  ///< index of layers_[0] in the model
  at::Tensor norm_;
  LinearWeights head_;
  RopeTables tables_;
};

}  // namespace plumbline
