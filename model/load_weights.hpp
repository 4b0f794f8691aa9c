// SPDX-License-Identifier: BSD-3-Clause
// Parameters from files as Hugging Face writes them.
#pragma once

#include <filesystem>
#include <string>

#include "model/llama_slice.hpp"
#include "support/tensor_files.hpp"

namespace plumbline {

/// One tensor of `value`'s shape. bfloat16 and float16 are widened, float32 also to a float64 value; a bfloat16 value,
/// which somebody asked for by name, takes float32 and float16 rounded to the nearest, ties to even, as transformers'
/// from_pretrained(dtype=bfloat16) does. Nothing else is narrowed. Throws InputError naming file, tensor, expected and
/// found shape or dtype, and for numbers that are not finite.
void load_tensor(const TensorFiles& files, const std::string& name, at::Tensor& value);

/// Weights of the slice's own parameters from a model as Hugging Face keeps it (TensorFiles::of_model; a tied one may
/// hold either of lm_head.weight and model.embed_tokens.weight, or both with equal bytes), or from a record's dump of a
/// step, such as dumps/step-initial.safetensors of a reference. Other ranks' tensors are not read. Throws InputError as
/// load_tensor does, and for a tensor that the config does not have (but rotary_emb.inv_freq).
void load_weights(LlamaSlice& slice, const std::filesystem::path& path);

/// Whether load_weights would find every tensor of the model there, by names, shapes and dtypes alone: of the values
/// only those of a tied pair are read. Throws InputError as it does.
void check_weights(const LlamaConfig& config, const std::filesystem::path& path);

}  // namespace plumbline
