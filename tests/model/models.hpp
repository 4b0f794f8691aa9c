// SPDX-License-Identifier: BSD-3-Clause
// Small Llamas for tests, with one forward and backward pass.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "model/llama_slice.hpp"
#include "model/unit.hpp"

namespace plumbline::testing {

/// Keys of a small Llama's config.json: 3 layers, hidden 32, 4 heads over 2 kv heads, vocabulary 96.
Json small_config_json();
/// That config with `changes` merged in (null removes a key), read from a file as a user's is.
LlamaConfig small_config(const Json& changes = Json::object());

/// All units of a config.
UnitRange whole(const LlamaConfig& config);
/// A slice with initial values of seed 7 (biases and norm weights moved off their neutral values), gradients and
/// tables.
LlamaSlice make_slice(const LlamaConfig& config, UnitRange units, at::ScalarType dtype = at::kFloat,
                      std::int64_t longest = 64);

/// The parameter of this name; fails the test and returns an undefined tensor if there is none.
at::Tensor value_of(const LlamaSlice& slice, const std::string& name);

/// Runs all units of the slice in order; an empty slice returns its input.
at::Tensor forward(const LlamaSlice& slice, const at::Tensor& input);

/// Size of a microbatch: rows, their length, and the product.
inline constexpr std::int64_t small_batch = 2, small_sequence = 19, small_tokens = small_batch * small_sequence;

/// Repeatable ids [batch, sequence] below the vocabulary size, no two rows alike.
at::Tensor make_ids(const LlamaConfig& config, std::int64_t batch, std::int64_t sequence);
/// Mean cross-entropy over labels that are not -100, position t against labels[t].
at::Tensor mean_loss(const at::Tensor& logits, const at::Tensor& labels);

}  // namespace plumbline::testing
