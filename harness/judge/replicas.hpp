// SPDX-License-Identifier: BSD-3-Clause
// Judges several pipelines that trained together as one case: each is compared with the same place of the reference,
// all are compared with each other, and the results form one verdict.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/evidence/record_reading.hpp"
#include "harness/judge/execution_order.hpp"
#include "record/verdict.hpp"

namespace plumbline::judging {

/// One pipeline.
struct JudgedCell {
  CellVerdict verdict;
  std::optional<ExecutionPoint> earliest;  ///< point of its first divergence
  bool own = false;                        ///< as is_required() needs it
};

/// Reads all records once, in step with each other, from their current positions at the beginning. `repeated` may be
/// null. Compares bits, or values within the limits of the plan's calibration. Never throws because of a record's
/// content. Throws InputError for an unknown check in the plan, and for a calibration that cannot be used
/// (calibrated_mode.hpp).
JudgedCell judge_records(const CellPlan& plan, RecordReading& reference, RecordReading& candidate,
                         RecordReading* repeated);

/// The records of one pipeline.
struct RecordsOfPipeline {
  std::optional<std::int64_t> replica;  ///< nullopt if the candidate is one pipeline
  std::filesystem::path reference, candidate;
  std::optional<std::filesystem::path> repeated;
};

/// For folders that hold a record, or one per place. Throws InputError as replica_folders() does, and for a reference with
/// other axes or placements.
std::vector<RecordsOfPipeline> pipelines_of(const std::filesystem::path& reference,
                                            const std::filesystem::path& candidate,
                                            const std::optional<std::filesystem::path>& repeated);

/// How to treat a record that cannot be read: `completion` reports it, or the reader's error is thrown.
enum class Unreadable { reported, thrown };

CellVerdict judge_pipelines(const CellPlan& plan, const std::vector<RecordsOfPipeline>& pipelines,
                            Unreadable unreadable);

}  // namespace plumbline::judging
