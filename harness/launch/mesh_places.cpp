// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/mesh_places.hpp"

#include "record/mesh.hpp"
#include "record/rank_folder.hpp"
#include "record/record.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

/// From any replica, because their ranks write at different times.
std::optional<Manifest> manifest_of(const std::filesystem::path& record) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(record, none)) {
    if (!entry.path().filename().string().starts_with(replica_folder_prefix)) continue;
    try {
      const Manifest manifest = read_manifest(entry.path());
      if (manifest.mesh) return manifest;
    } catch (const InputError&) {  // being written
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<RankPlace> places_in_mesh(const std::filesystem::path& record) {
  std::vector<RankPlace> places;
  const auto manifest = manifest_of(record);
  if (!manifest) return places;
  const std::optional<Mesh>& mesh = manifest->mesh;
  const bool names_ranks_of_run = manifest->role == "pipeline";
  places.resize(static_cast<std::size_t>(mesh->world_size()));
  for (std::size_t replica = 0; replica < mesh->replicas.size(); ++replica) {
    const auto& ranks = mesh->replicas[replica];
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      RankPlace& place = places[static_cast<std::size_t>(ranks[rank])];
      place.folder = record / replica_folder_name(static_cast<std::int64_t>(replica)) /
                     rank_folder(static_cast<std::int64_t>(rank));
      place.replica = "replica " + std::to_string(replica) + ", rank " + std::to_string(rank);
      if (!names_ranks_of_run) place.pipeline = ranks;
    }
  }
  return places;
}

}  // namespace plumbline
