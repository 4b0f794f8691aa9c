// SPDX-License-Identifier: BSD-3-Clause
// Which torch two runs computed with: another one has other kernels, in bfloat16 above all.
#pragma once

#include <optional>
#include <string>

#include "record/record.hpp"

namespace plumbline::judging {

/// "torch 2.11.0 against 2.15.0 (oneDNN 3.10.2, 3.13.3)", by the manifests' `versions`: `torch` or `libtorch`, without
/// a build's suffix ("+cpu"), and `onednn`. Nothing where both are the same, or one does not say.
std::optional<std::string> why_other_torch(const Manifest& reference, const Manifest& candidate);

}  // namespace plumbline::judging
