// SPDX-License-Identifier: BSD-3-Clause
// Compares the model with goldens: outputs that Hugging Face transformers computed from the same weights and inputs.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// How a golden is compared on this machine.
struct GoldenDemand {
  bool bits = false;   ///< 0 ULP; otherwise within the limits below
  std::string reason;  ///< why, for the user
  /// If `bits` and this processor has digests of its own: digests of all outputs by name, with 0 for -0. Otherwise the
  /// outputs are compared with io.safetensors.
  std::optional<std::map<std::string, std::string>> digests;
  double logits_absolute = 0;
  double loss_absolute = 0;
  double gradient_relative_to_largest = 0;  ///< relative to the largest element of the golden's tensor
  /// Relative to the largest element of all gradients. Covers gradients that are zero in exact arithmetic (queries and
  /// keys if only a row's first token has a label), whose rounding residue has no scale of its own.
  double gradient_floor_relative_to_all = 0;
};

/// Requires equal bits if the golden was computed with this LibTorch (`torch`: a version or a list of versions with
/// equal bits) on a machine of the same code path (CPU vendor, family and model, ATen capability, MKL version, no
/// environment variable that selects other kernels): the golden's `machine` or an entry of `also`, which has digests of
/// its `outputs` if they differ from io.safetensors. Otherwise requires the limits of golden.json, which may not be
/// looser than the built-in ones for the golden's dtype (float32 | bfloat16). `golden` null: no golden.json. Throws
/// InputError naming `path` for limits that are looser or not numbers, and for a malformed `also`.
GoldenDemand golden_demand(const Json& golden, const Json& machine, const Json& environment,
                           const std::filesystem::path& path, const std::string& dtype = "float32");

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
