// SPDX-License-Identifier: BSD-3-Clause
// Reads parameters from Hugging Face model files.
#pragma once

#include <filesystem>
#include <string>

#include "model/llama_slice.hpp"
#include "support/tensor_files.hpp"

namespace plumbline {

/// One tensor of `value`'s shape. Widening is exact: bfloat16 and float16 always, float32 to float64. A bfloat16
/// `value`, which the user chose explicitly, also takes float32 and float16, rounded to nearest, ties to even, as in
/// transformers' from_pretrained(dtype=bfloat16). Nothing else is narrowed. Throws InputError naming file, tensor,
/// expected and found shape or dtype, and for values that are not finite.
void load_tensor(const TensorFiles& files, const std::string& name, at::Tensor& value);

/// Reads the slice's own parameters from a Hugging Face model (TensorFiles::of_model; a tied model may have
/// lm_head.weight, model.embed_tokens.weight, or both with equal bytes) or from a record's dump of a step, such as
/// dumps/step-initial.safetensors of a reference. Does not read other ranks' tensors. Throws InputError as load_tensor
/// does, and for a tensor unknown to the config (except rotary_emb.inv_freq).
void load_weights(LlamaSlice& slice, const std::filesystem::path& path);

/// Checks names, shapes and dtypes of all tensors that load_weights would read; reads values of a tied pair only.
/// Throws the same InputError.
void check_weights(const LlamaConfig& config, const std::filesystem::path& path);

}  // namespace plumbline
