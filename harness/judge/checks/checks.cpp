// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/checks/checks.hpp"

namespace plumbline::judging {

std::string value_limit(const CellEvidence& evidence) {
  return evidence.values->demand();
}

std::string agreement(const CellEvidence& evidence) {
  return evidence.values->agreement();
}

}  // namespace plumbline::judging
