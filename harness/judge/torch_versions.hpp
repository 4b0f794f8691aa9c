// SPDX-License-Identifier: BSD-3-Clause
// The torch versions of two runs. Other versions have other kernels, above all in bfloat16.
#pragma once

#include <optional>
#include <string>

#include "record/record.hpp"

namespace plumbline::judging {

/// "torch 2.11.0 against 2.15.0 (oneDNN 3.10.2, 3.13.3)", from the manifests' `versions`: `torch` or `libtorch`,
/// without a build's suffix ("+cpu"), and `onednn`. nullopt if both are equal, or one is unknown.
std::optional<std::string> why_other_torch(const Manifest& reference, const Manifest& candidate);

}  // namespace plumbline::judging
