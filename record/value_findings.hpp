// SPDX-License-Identifier: BSD-3-Clause
// What the dumped tensors of a failing cell tell beside that they differ: by how much, and which known mistake leaves
// such a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/json.hpp"

namespace plumbline {

/// A known mistake's trace, found in the values.
struct Fingerprint {
  std::string name;      ///< stable, for machines: "not_scaled"
  std::string words;     ///< what the values show
  std::string evidence;  ///< the numbers: ratio, residual, how many tensors
  std::string suggests;  ///< the cause that leaves such a trace
};

/// Elements whose two values are `from` to `to` units in the last place apart.
struct UlpBucket {
  std::int64_t from = 0, to = 0;
  std::int64_t elements = 0;
};

struct ValueFindings {
  std::int64_t step = 0;
  std::string tensor;            ///< that of the first divergence, as its dump names it; empty where it has none
  std::vector<UlpBucket> ulps;   ///< of its elements, ascending; empty where ULPs have no meaning
  std::int64_t not_numbers = 0;  ///< elements of it that are NaN in either
  std::vector<Fingerprint> fingerprints;
  std::string otherwise;  ///< where none fits: that, and what was seen
};

Json to_json(const ValueFindings& findings);
/// Throws nlohmann's exceptions where it is not as `to_json` writes it.
ValueFindings value_findings_from(const Json& json);

/// One line for people: the fingerprints in words with their causes, or that none fits.
std::string to_text(const ValueFindings& findings);

}  // namespace plumbline
