// SPDX-License-Identifier: BSD-3-Clause
// What a golden demands of this machine: its bits, or limits.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

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

}  // namespace plumbline
