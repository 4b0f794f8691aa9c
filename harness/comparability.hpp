// Whether two records may be compared at all, and whether they start from the same parameters.
#pragma once

#include <string>
#include <vector>

#include "harness/cell_evidence.hpp"
#include "harness/judgement.hpp"

namespace plumbline::judging {

/// Every way in which the two are no runs of the same training, or are one and the same run; empty when they can be
/// compared.
std::vector<std::string> why_not_comparable(const Record& reference, const Record& candidate);

/// Why the two are the same run; empty when they are not. Run ids, and byte-equal steps.csv and actions.csv of a rank.
std::vector<std::string> why_the_same_run(const Record& one, const Record& other);

}  // namespace plumbline::judging
