// SPDX-License-Identifier: BSD-3-Clause
// What the dumped tensors of a failing case show: sizes of differences, and fault signatures.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumbline {

/// A fault signature that was found in the values.
struct FaultSignature {
  std::string name;      ///< stable, for machines: "not_scaled"
  std::string words;     ///< what the values show
  std::string evidence;  ///< the numbers: ratio, residual, how many tensors
  std::string suggests;  ///< the likely cause
};

/// Number of elements whose values differ by `from` to `to` ULPs.
struct UlpBucket {
  std::int64_t from = 0, to = 0;
  std::int64_t elements = 0;
};

struct ValueFindings {
  std::int64_t step = 0;
  std::string tensor;            ///< name in the dump of the first divergence's tensor; empty if it has none
  std::vector<UlpBucket> ulps;   ///< of its elements, ascending; empty if ULPs have no meaning
  std::int64_t not_numbers = 0;  ///< elements that are NaN in either record
  std::vector<FaultSignature> fault_signatures;
  std::string otherwise;  ///< if no signature matches: a sentence with what was seen
};

/// One line for people: the fault signatures with their causes, or that none matches.
std::string to_text(const ValueFindings& findings);

}  // namespace plumbline
