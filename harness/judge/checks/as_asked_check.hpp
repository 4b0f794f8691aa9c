// SPDX-License-Identifier: BSD-3-Clause
// as_asked: each run matches its request. Compares both manifests and tables with request.json, before any comparison
// of records.
#pragma once

#include <memory>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/check_result_builder.hpp"
#include "harness/judge/evidence/record_reading.hpp"

namespace plumbline::judging {

/// Compares each readable record with its request, also of a run that ended early. Not applicable without requests.
class AsAskedCheck {
 public:
  /// Before the first step. The records must outlive it.
  AsAskedCheck(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate);
  ~AsAskedCheck();

  /// The step that the records are at.
  void step();
  LocatedResult conclude();

 private:
  class OfRecord;
  const CellPlan& plan_;
  const RecordReading &reference_, &candidate_;
  CheckResultBuilder builder_;
  std::vector<std::unique_ptr<OfRecord>> records_;
};

}  // namespace plumbline::judging
