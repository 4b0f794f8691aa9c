// SPDX-License-Identifier: BSD-3-Clause
// The manifest's `mesh`: which pipeline of a run a record describes if several train together (data, shard, tensor,
// context, expert parallel). docs/record-format.md, "One pipeline of several".
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace plumbline {

class JsonKeys;

/// An axis of the run's mesh. `kind`: pipeline (of the stages), replicate, shard, tensor, context or expert. Axes of
/// size 1 count as absent.
struct MeshAxis {
  std::string name;
  std::int64_t size = 1;
  std::string kind;

  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

/// A parameter that places hold in parts: places with equal coordinates on these axes hold the same part.
struct ParameterPart {
  std::vector<std::string> axes;
  std::string placements;  ///< in the trainer's words, "dp_shard: Shard(dim=0), tp: Shard(dim=1)"

  friend bool operator==(const ParameterPart&, const ParameterPart&) = default;
};

/// A place is a coordinate on all axes but the pipeline's; places are numbered with the last axis fastest, and
/// `replicas[place]` are the ranks of its pipeline. Names and keys of before call a place a replica.
struct Mesh {
  std::vector<MeshAxis> axes;
  std::vector<std::vector<std::int64_t>> replicas;  ///< global ranks of each pipeline, in the order of its local ranks
  std::int64_t replica = 0;                         ///< the recorded one
  bool own_gradients = false;                       ///< gradients are recorded before their reduction over replicas
  std::map<std::string, ParameterPart> parts;       ///< by parameter, of those that places hold in parts

  const MeshAxis& pipeline() const;
  std::int64_t world_size() const;
  /// The place's coordinates on the chosen axes, 0 on the others.
  std::vector<std::int64_t> coordinates(std::int64_t place, const std::function<bool(const MeshAxis&)>& chosen) const;
  /// Equal for places that hold the same part of the parameter, or that both hold the whole.
  std::vector<std::int64_t> part_at(std::int64_t place, const std::string& parameter) const;
  /// "dp 1, tp 0"
  std::string place_name(std::int64_t place) const;
  std::string name() const { return place_name(replica); }
  /// The sizes of the axes of places: "dp 2, tp 2".
  std::string sizes() const;
};

/// Why the places of two records are not comparable, in words; empty if they have the same axes and parts. Without a
/// mesh, a record is of a single pipeline with whole parameters, and may be the reference of every place.
std::vector<std::string> why_other_places(const std::optional<Mesh>& reference, const std::optional<Mesh>& candidate);

/// Throws InputError naming the key: none or several axes of stages, two axes of one name, sizes whose product is not
/// the number of ranks, a rank in no replica or in two, a replica of another length than the pipeline has ranks, parts
/// along an axis that the mesh lacks. `ranks`: the record's.
Mesh read_mesh(const JsonKeys& mesh, std::int64_t ranks);

/// The record to read: `folder`, or its replica-<number>. Throws InputError if the folder holds replicas and none was
/// chosen, or the chosen one is missing.
std::filesystem::path replica_folder(const std::filesystem::path& folder, std::optional<std::int64_t> replica);

/// The records of all pipelines of a run, by number; empty if `folder` is itself a record. Throws InputError if a
/// record is missing, has another number than its folder, or another mesh than the first.
std::vector<std::filesystem::path> replica_folders(const std::filesystem::path& folder);

/// The folder of one pipeline's files: the replica's, or `folder`.
std::filesystem::path record_of_replica(const std::filesystem::path& folder, std::optional<std::int64_t> replica);

}  // namespace plumbline
