// SPDX-License-Identifier: BSD-3-Clause
// as_asked: what ran is what was asked for. Both manifests and tables are held to request.json, before anything is
// compared with anything.
#pragma once

#include <memory>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/evidence/record_reading.hpp"
#include "harness/judge/judgement.hpp"

namespace plumbline::judging {

/// Holds each record that can be read to what was asked of it, on its own: of a run that broke off too. Not applicable
/// where nobody said what was asked.
class AsAskedCheck {
 public:
  /// Before the first step. The records must outlive it.
  AsAskedCheck(const CellPlan& plan, const RecordReading& reference, const RecordReading& candidate);
  ~AsAskedCheck();

  /// The step that the records are at.
  void step();
  Judged conclude();

 private:
  class OfRecord;
  const CellPlan& plan_;
  const RecordReading &reference_, &candidate_;
  Judgement judgement_;
  std::vector<std::unique_ptr<OfRecord>> records_;
};

}  // namespace plumbline::judging
