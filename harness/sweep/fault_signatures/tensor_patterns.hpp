// SPDX-License-Identifier: BSD-3-Clause
// Fault signatures of any tensor.
#pragma once

#include <optional>
#include <string>

#include "harness/sweep/fault_signatures/relation.hpp"
#include "record/value_findings.hpp"

namespace plumbline {

/// A single differing element, possibly in a single bit.
std::optional<FaultSignature> few_elements(const std::string& what, const SafetensorsEntry& expected,
                                           const SafetensorsEntry& got);

/// Differences of the size of rounding, in more than one element.
std::optional<FaultSignature> rounding(const std::string& what, const Relation& relation, double tolerance);

}  // namespace plumbline
