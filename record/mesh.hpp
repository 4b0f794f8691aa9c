// SPDX-License-Identifier: BSD-3-Clause
// The manifest's `mesh`: which pipeline of a run a record describes if several train together, for example data
// parallel. docs/record-format.md, "One pipeline of several".
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plumbline {

class JsonKeys;

/// How the replicas hold a parameter: replica i has the range parts[i] = [begin, end) along `dimension`, of `size`. Its
/// rows are named "weight[0:3]", along the second dimension "weight[:,0:3]". An empty range has no rows.
struct Sharding {
  std::int64_t dimension = 0;
  std::int64_t size = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> parts;

  friend bool operator==(const Sharding&, const Sharding&) = default;
  /// The name of a replica's rows; empty if it holds nothing.
  std::string name_of(const std::string& parameter, std::int64_t replica) const;
};

struct Mesh {
  std::map<std::string, std::int64_t> axes;         ///< name to size: {"dp": 2, "pp": 4}
  std::string pipeline;                             ///< the axis of the stages
  std::vector<std::vector<std::int64_t>> replicas;  ///< global ranks of each pipeline, in the order of its local ranks
  std::int64_t replica = 0;                         ///< the recorded one
  bool own_gradients = false;                       ///< gradients are recorded before their reduction over replicas
  std::map<std::string, Sharding> sharded;          ///< by parameter, of those that no replica holds whole

  std::int64_t world_size() const;
  /// "replica 1 of 2"
  std::string name() const;
};

/// Throws InputError naming the key: sizes whose product is not the number of ranks, a rank in no replica or in two, a
/// replica of another length than the pipeline has ranks, parts of a parameter that do not make up the whole. `ranks`:
/// the record's.
Mesh read_mesh(const JsonKeys& mesh, std::int64_t ranks);

/// The record to read: `folder`, or its replica-<number>. Throws InputError if the folder holds replicas and none was
/// chosen, or the chosen one is missing.
std::filesystem::path replica_folder(const std::filesystem::path& folder, std::optional<std::int64_t> replica);

/// The records of all pipelines of a run, by number; empty if `folder` is itself a record. Throws InputError if a
/// record is missing, has another number than its folder, or another mesh than the first.
std::vector<std::filesystem::path> replica_folders(const std::filesystem::path& folder);

/// The folder of one pipeline's files: that of the replica, or `folder`.
std::filesystem::path record_of_replica(const std::filesystem::path& folder, std::optional<std::int64_t> replica);

}  // namespace plumbline
