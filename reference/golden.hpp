// SPDX-License-Identifier: BSD-3-Clause
// Holds the model against goldens: outputs that Hugging Face transformers computed from the same weights and inputs.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// What is demanded of a golden on this machine.
struct GoldenDemand {
  bool bits = false;   ///< 0 ULP; else the limits below
  std::string reason;  ///< why this one, in words
  /// Of all outputs by name, with 0 for -0, where this processor's own are demanded; else they are compared with
  /// io.safetensors.
  std::optional<std::map<std::string, std::string>> digests;
  double logits_absolute = 0;
  double loss_absolute = 0;
  double gradient_relative_to_largest = 0;  ///< of the golden tensor's own largest element
  /// Of the largest element of all the golden's gradients: what is left, by rounding, of a gradient that is zero in
  /// exact arithmetic (queries and keys where only a row's first token has a label) has no size of its own to be
  /// relative to.
  double gradient_floor_relative_to_all = 0;
};

/// Bits where a machine of this one's code path (CPU vendor, family and model, ATen capability, MKL version, no switch
/// in the environment that moves kernels) computed the golden with this LibTorch (`torch`: a version or a list of those
/// that gave the same bits): its maker's `machine`, or one of `also`, which has digests of its
/// `outputs` where they are not those of io.safetensors. Else limits: those of golden.json, never looser than our own
/// for the dtype the golden was computed in (float32 | bfloat16). `golden` null: no golden.json. Throws InputError
/// naming `path` for limits that are looser or no numbers, and for an `also` of another form.
GoldenDemand golden_demand(const Json& golden, const Json& machine, const Json& environment,
                           const std::filesystem::path& path, const std::string& dtype = "float32");

/// Runs the whole model, unit by unit as the trainers do, on each directory's config.json, model.safetensors and
/// io.safetensors (input_ids; labels, which are shifted here, or shift_labels; logits, loss, grad.<parameter>; the
/// model is in the dtype of the logits, float32 or bfloat16; the loss is float32; a tied gradient is the sum of both
/// uses, at embed_tokens) and writes to `out` a table of tensors (ULP, largest difference), the demand and its reason,
/// and how much was compared at 0 ULP. Returns 0 when all of it holds, else 1; a NaN, a missing tensor or one too many
/// never holds. Where PLUMBLINE_REQUIRE_GOLDEN_BITS is set, to the ATen capability that this machine must have, a
/// golden in float32 of this LibTorch that is compared within limits does not hold. Throws InputError naming the
/// directory for files that are missing or broken.
int judge_goldens(const std::vector<std::filesystem::path>& directories, std::ostream& out);

}  // namespace plumbline
