// SPDX-License-Identifier: BSD-3-Clause
// Several pipelines that train side by side, data parallel say, as one cell: each is judged against the reference's,
// all are held against each other, and of both one verdict is made.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "harness/judge/judge_records.hpp"

namespace plumbline::judging {

/// The records of one pipeline: what is judged of it.
struct RecordsOfPipeline {
  std::optional<std::int64_t> replica;  ///< absent where the candidate is one pipeline
  std::filesystem::path reference, candidate;
  std::optional<std::filesystem::path> repeated;
};

/// Of folders that hold a record, or one for each replica. Throws InputError as replica_folders() does.
std::vector<RecordsOfPipeline> pipelines_of(const std::filesystem::path& reference,
                                            const std::filesystem::path& candidate,
                                            const std::optional<std::filesystem::path>& repeated);

/// What becomes of a record that cannot be read: it is told by `completion`, or thrown as the reader threw it.
enum class Unreadable { told, thrown };

CellVerdict judge_pipelines(const CellPlan& plan, const std::vector<RecordsOfPipeline>& pipelines,
                            Unreadable unreadable);

}  // namespace plumbline::judging
