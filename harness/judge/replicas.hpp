// SPDX-License-Identifier: BSD-3-Clause
// Judges several data parallel pipelines as one case: each is compared with the reference, all are compared with each
// other, and the results form one verdict.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "harness/judge/judge_records.hpp"

namespace plumbline::judging {

/// The records of one pipeline.
struct RecordsOfPipeline {
  std::optional<std::int64_t> replica;  ///< nullopt if the candidate is one pipeline
  std::filesystem::path reference, candidate;
  std::optional<std::filesystem::path> repeated;
};

/// For folders that hold a record, or one per replica. Throws InputError as replica_folders() does.
std::vector<RecordsOfPipeline> pipelines_of(const std::filesystem::path& reference,
                                            const std::filesystem::path& candidate,
                                            const std::optional<std::filesystem::path>& repeated);

/// How to treat a record that cannot be read: `completion` reports it, or the reader's error is thrown.
enum class Unreadable { reported, thrown };

CellVerdict judge_pipelines(const CellPlan& plan, const std::vector<RecordsOfPipeline>& pipelines,
                            Unreadable unreadable);

}  // namespace plumbline::judging
