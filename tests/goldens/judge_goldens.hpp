// SPDX-License-Identifier: BSD-3-Clause
// Compares the model with goldens: outputs that Hugging Face transformers computed from the same weights and inputs.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

namespace plumbline {

/// Runs the whole model, unit by unit as in the trainers, on each directory's config.json, model.safetensors and
/// io.safetensors (input_ids; labels, which are shifted here, or shift_labels; logits, loss, grad.<parameter>; the
/// model has the dtype of the logits, float32 or bfloat16; the loss is float32; a tied gradient is the sum of both
/// uses, under embed_tokens). Writes to `out` a table of tensors (ULP, largest difference), the comparison's mode with
/// its reason, and how much was compared at 0 ULP. Returns 0 if every comparison holds, else 1; NaN, a missing or an
/// additional tensor always fails. With `device` cuda the first visible GPU computes, and limits apply. If
/// PLUMBLINE_REQUIRE_GOLDEN_BITS is set, to the ATen capability required of this machine, a float32 golden of this
/// LibTorch fails if it is compared within limits. Throws InputError naming the directory for missing or broken files.
int judge_goldens(const std::vector<std::filesystem::path>& directories, std::ostream& out,
                  const std::string& device = "cpu");

}  // namespace plumbline
