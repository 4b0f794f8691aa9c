// SPDX-License-Identifier: BSD-3-Clause
// The manifest's `mesh`: which of a run's pipelines a record is of, where several train side by side (data parallel,
// say). docs/record-format.md, "One pipeline of several".
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

class JsonKeys;

struct Mesh {
  std::map<std::string, std::int64_t> axes;         ///< their sizes: {"dp": 2, "pp": 4}
  std::string pipeline;                             ///< the axis along which stages lie
  std::vector<std::vector<std::int64_t>> replicas;  ///< each pipeline's ranks in the whole run, in its own ranks' order
  std::int64_t replica = 0;                         ///< the one that is recorded
  bool own_gradients = false;                       ///< recorded before they are summed over replicas

  std::int64_t world_size() const;
  /// "replica 1 of 2"
  std::string name() const;
};

/// Throws InputError naming the key: sizes that do not multiply to the ranks, a rank in no replica or in two, a replica
/// of another length than the pipeline has ranks, a parameter that a rank holds in part. `ranks`: of the record.
Mesh read_mesh(const JsonKeys& mesh, std::int64_t ranks);

/// The record to read: `folder`, or its replica-<number>. Throws InputError where the folder holds replicas and none
/// was chosen, or not the chosen one.
std::filesystem::path replica_folder(const std::filesystem::path& folder, std::optional<std::int64_t> replica);

/// The records of all pipelines of a run, by number; none where `folder` is a record itself. Throws InputError where
/// one is missing, is of another number than its folder, or says another mesh than the first.
std::vector<std::filesystem::path> replica_folders(const std::filesystem::path& folder);

/// Where something of one pipeline is looked up in a folder that may hold several: the replica's, or `folder`.
std::filesystem::path record_of_replica(const std::filesystem::path& folder, std::optional<std::int64_t> replica);

}  // namespace plumbline
