// SPDX-License-Identifier: BSD-3-Clause
// Whether a golden has the bits of this LibTorch on this machine.
#pragma once

#include <string>

#include "support/json.hpp"

namespace plumbline {

/// The first property by which the code path of a golden's machine (`producer`, golden.json's "machine") differs from
/// this one, so that the bits may differ: processor vendor, family and model number, ATen capability, MKL version, for
/// a bfloat16 golden also its instructions, or an environment variable that selects other kernels. Empty if there is
/// none. A missing entry counts as different.
std::string code_path_difference(const Json& producer, const Json& machine, const Json& environment);
/// Whether `torch`, a version or a list of versions, contains the loaded LibTorch.
bool names_this_torch(const Json& torch);
/// Why the bits of `entry` may differ from this LibTorch's on this machine; empty if they must be equal. `entry`: a
/// golden.json or one of its `also`, with `machine` and `torch`; without `torch` the golden's applies.
std::string why_other_bits(const Json& golden, const Json& entry, const Json& machine, const Json& environment);
/// Whether the golden or one of its `also` has the bits of this LibTorch on this machine.
bool holds_bits_of_here(const Json& golden);

}  // namespace plumbline
