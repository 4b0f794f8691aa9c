// SPDX-License-Identifier: BSD-3-Clause
// Judges one case from two records, independently of how the records were made: the records of one pipeline are read in
// step with each other, and every applicable check sees each step. Several pipelines that trained together are compared
// with their places of the reference and with each other, and form one verdict.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/cell_plan.hpp"
#include "harness/judge/check_result_builder.hpp"
#include "harness/judge/evidence/record_reading.hpp"
#include "harness/judge/execution_order.hpp"
#include "record/record.hpp"
#include "record/verdict.hpp"

namespace plumbline {

/// Runs every check on the case. `repeated`: the record of a second run, for R0. Never throws because of a record's
/// content: for a record that cannot be read, `completion` fails with the reader's message and the other checks are
/// not_run.
CellVerdict judge_cell(const CellPlan& plan, const std::filesystem::path& reference,
                       const std::filesystem::path& candidate,
                       const std::optional<std::filesystem::path>& repeated = std::nullopt);

/// The reason why `check` does not apply to a case, derived from the sweep's plan and the candidate's manifest before
/// any table is read; nullopt if it applies. Throws InputError for an unknown check.
std::optional<std::string> not_applicable(const std::string& check, const CellPlan& plan, const Manifest& candidate);

/// All checks' names, in the order of docs/checks.md.
const std::vector<std::string>& check_names();

}  // namespace plumbline

namespace plumbline::judging {

struct JudgedChecks {
  std::vector<LocatedResult> results;            ///< in the order of the table
  std::optional<std::int64_t> norm_diverged_at;  ///< CellEvidence::norm_diverged_at
};

/// `repeated`: null without a repeated run. Throws InputError for a calibration that cannot be used.
JudgedChecks judge_checks(const CellPlan& plan, RecordReading& reference, RecordReading& candidate,
                          RecordReading* repeated);

/// One pipeline.
struct JudgedCell {
  CellVerdict verdict;
  std::optional<ExecutionPoint> earliest;  ///< point of its first divergence
  bool own = false;                        ///< as is_required() needs it
};

/// Reads all records once, in step with each other, from their current positions at the beginning. `repeated` may be
/// null. Compares bits, or values within the limits of the plan's calibration. Never throws because of a record's
/// content. Throws InputError for an unknown check in the plan, and for a calibration that cannot be used.
JudgedCell judge_records(const CellPlan& plan, RecordReading& reference, RecordReading& candidate,
                         RecordReading* repeated);

/// The records of one pipeline.
struct RecordsOfPipeline {
  std::optional<std::int64_t> replica;  ///< nullopt if the candidate is one pipeline
  std::filesystem::path reference, candidate;
  std::optional<std::filesystem::path> repeated;
};

/// For folders that hold a record, or one per place. Throws InputError as replica_folders() does, and for a reference
/// with other axes or placements.
std::vector<RecordsOfPipeline> pipelines_of(const std::filesystem::path& reference,
                                            const std::filesystem::path& candidate,
                                            const std::optional<std::filesystem::path>& repeated);

/// How to treat a record that cannot be read: `completion` reports it, or the reader's error is thrown.
enum class Unreadable { reported, thrown };

CellVerdict judge_pipelines(const CellPlan& plan, const std::vector<RecordsOfPipeline>& pipelines,
                            Unreadable unreadable);

}  // namespace plumbline::judging
