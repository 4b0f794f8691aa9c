// SPDX-License-Identifier: BSD-3-Clause
#include "record/mesh.hpp"

#include <algorithm>
#include <set>

#include "record/json_keys.hpp"
#include "record/rank_folder.hpp"
#include "record/record.hpp"
#include "support/error.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// The limit of a manifest's ranks; products of axes cannot overflow 64 bits.
constexpr std::int64_t most_ranks_of_a_mesh = 65536;

void read_axes(const JsonKeys& keys, Mesh& mesh) {
  const JsonKeys axes = keys.object("axes");
  for (const auto& [name, size] : keys.at("axes").items()) {
    mesh.axes[name] = axes.integer(name, 1, most_ranks_of_a_mesh);
    if (mesh.world_size() > most_ranks_of_a_mesh)
      axes.fail(name, "makes more than " + to_text(most_ranks_of_a_mesh) + " ranks");
  }
  mesh.pipeline = keys.text("pipeline");
  if (!mesh.axes.contains(mesh.pipeline)) keys.fail("pipeline", "'" + mesh.pipeline + "' is none of the axes");
}

void read_replicas(const JsonKeys& keys, Mesh& mesh) {
  const Json& replicas = keys.at("replicas");
  const auto is_rank = [](const Json& rank) { return rank.is_number_integer(); };
  const auto is_list = [&](const Json& list) {
    return list.is_array() && std::all_of(list.begin(), list.end(), is_rank);
  };
  if (!replicas.is_array() || replicas.empty() || !std::all_of(replicas.begin(), replicas.end(), is_list))
    keys.fail("replicas", "must list the ranks of each pipeline");
  const std::int64_t world = mesh.world_size(), length = mesh.axes.at(mesh.pipeline);
  std::vector<std::optional<std::int64_t>> replica_of(static_cast<std::size_t>(world));
  for (const Json& list : replicas) {
    const auto number = static_cast<std::int64_t>(mesh.replicas.size());
    for (const auto rank : list.get<std::vector<std::int64_t>>()) {
      const std::string named = "rank " + to_text(rank);
      if (rank < 0 || rank >= world)
        keys.fail("replicas", named + " is none of the " + to_text(world) + " that the sizes of the axes multiply to");
      auto& taken = replica_of[static_cast<std::size_t>(rank)];
      if (taken)
        keys.fail("replicas", named + " stands in replica " + to_text(*taken) + " and in replica " + to_text(number));
      taken = number;
    }
    if (std::ssize(list) != length)
      keys.fail("replicas", "replica " + to_text(number) + " has " + to_text(std::ssize(list)) + " ranks, yet axis '" +
                                mesh.pipeline + "' has " + to_text(length));
    mesh.replicas.push_back(list.get<std::vector<std::int64_t>>());
  }
  const auto left_out = std::find(replica_of.begin(), replica_of.end(), std::nullopt);
  if (left_out != replica_of.end())
    keys.fail("replicas", "rank " + to_text(left_out - replica_of.begin()) + " stands in none of them");
}

/// Refuses parameters that a rank holds in part: their shape and bits differ from the reference's whole parameter.
void refuse_shards(const JsonKeys& keys) {
  if (!keys.has_value("sharded")) return;
  const auto names = keys.texts("sharded");
  if (!names.empty())
    keys.fail("sharded", "of " + join(names, ", ") +
                             " each rank holds a part, and a reference the whole: such a run is not judged; record one "
                             "whose parameters are whole");
}

/// The numbers of the folders replica-<number>; empty if `folder` is a record.
std::set<std::int64_t> replicas_in(const fs::path& folder) {
  std::set<std::int64_t> numbers;
  std::error_code none;
  if (fs::exists(folder / "manifest.json", none)) return numbers;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(replica_folder_prefix) || !entry.is_directory(none)) continue;
    const auto number = parse_integer(name.substr(replica_folder_prefix.size()));
    if (number && *number >= 0) numbers.insert(*number);
  }
  return numbers;
}

fs::path folder_of(const fs::path& folder, std::int64_t replica) {
  return folder / replica_folder_name(replica);
}

/// The mesh in the manifest of that replica.
Mesh mesh_in(const fs::path& folder, std::int64_t replica) {
  const auto mesh = read_manifest(folder_of(folder, replica)).mesh;
  if (!mesh || mesh->replica != replica)
    throw InputError((folder_of(folder, replica) / "manifest.json").string() + ": key mesh.replica: is " +
                     (mesh ? to_text(mesh->replica) : "missing") + " in the folder of replica " + to_text(replica));
  return *mesh;
}

std::string in_words(const Mesh& mesh) {
  std::vector<std::string> axes, replicas;
  for (const auto& [name, size] : mesh.axes) axes.push_back(name + " " + to_text(size));
  for (const auto& ranks : mesh.replicas) {
    std::vector<std::string> named;
    for (const auto rank : ranks) named.push_back(to_text(rank));
    replicas.push_back("[" + join(named, ", ") + "]");
  }
  return "axes " + join(axes, ", ") + " with the pipeline along " + mesh.pipeline + ", replicas " +
         join(replicas, " ") + (mesh.own_gradients ? ", gradients of its own" : "");
}

}  // namespace

std::int64_t Mesh::world_size() const {
  std::int64_t product = 1;
  for (const auto& [name, size] : axes) product *= size;
  return product;
}

std::string Mesh::name() const {
  return "replica " + to_text(replica) + " of " + to_text(std::ssize(replicas));
}

Mesh read_mesh(const JsonKeys& keys, std::int64_t ranks) {
  Mesh mesh;
  read_axes(keys, mesh);
  read_replicas(keys, mesh);
  mesh.replica = keys.integer("replica", 0, std::ssize(mesh.replicas) - 1);
  if (mesh.axes.at(mesh.pipeline) != ranks)
    keys.fail("pipeline", "axis '" + mesh.pipeline + "' has " + to_text(mesh.axes.at(mesh.pipeline)) +
                              " ranks, yet world_size, that of one pipeline, is " + to_text(ranks));
  refuse_shards(keys);
  if (keys.has_value("gradients")) {
    const std::string gradients = keys.text("gradients");
    if (gradients != "reduced" && gradients != "own")
      keys.fail("gradients", "is '" + gradients + "'; they are `reduced` (over replicas) or each replica's `own`");
    mesh.own_gradients = gradients == "own";
  }
  return mesh;
}

fs::path replica_folder(const fs::path& folder, std::optional<std::int64_t> replica) {
  if (replicas_in(folder).empty()) {
    if (!replica || !fs::exists(folder / "manifest.json")) return folder;
    const auto mesh = read_manifest(folder).mesh;
    if (mesh && mesh->replica != *replica)
      throw InputError(folder.string() + ": is " + mesh->name() + ", not replica " + to_text(*replica));
    return folder;
  }
  if (!replica) {
    replica_folders(folder);
    throw InputError(folder.string() +
                     ": holds a record for each of several pipelines (replica-0, ...); choose one: "
                     "--replica 0");
  }
  const fs::path chosen = folder_of(folder, *replica);
  if (!fs::is_directory(chosen)) throw InputError(chosen.string() + ": is not there; choose a replica that is");
  mesh_in(folder, *replica);
  return chosen;
}

std::vector<fs::path> replica_folders(const fs::path& folder) {
  const auto numbers = replicas_in(folder);
  std::vector<fs::path> folders;
  if (numbers.empty()) return folders;
  const Mesh first = mesh_in(folder, *numbers.begin());
  const std::int64_t count = std::ssize(first.replicas);
  for (std::int64_t number = 0; number < count; ++number) {
    if (!numbers.contains(number))
      throw InputError(folder_of(folder, number).string() + ": is not there, yet by the mesh of the others " +
                       to_text(count) + " pipelines trained side by side");
    const Mesh mesh = mesh_in(folder, number);
    if (in_words(mesh) != in_words(first))
      throw InputError((folder_of(folder, number) / "manifest.json").string() + ": key mesh: says " + in_words(mesh) +
                       "; replica 0 of the same run says " + in_words(first));
    folders.push_back(folder_of(folder, number));
  }
  if (*numbers.rbegin() >= count)
    throw InputError(folder_of(folder, *numbers.rbegin()).string() + ": stands there, yet by the mesh of the others " +
                     to_text(count) + " pipelines trained side by side: of an earlier run?");
  return folders;
}

fs::path record_of_replica(const fs::path& folder, std::optional<std::int64_t> replica) {
  return replicas_in(folder).empty() ? folder : folder_of(folder, replica.value_or(0));
}

}  // namespace plumbline
