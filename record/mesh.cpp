#include "record/mesh.hpp"

#include <algorithm>

#include "record/json_keys.hpp"
#include "record/record.hpp"
#include "support/error.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

// As many ranks as a manifest may have; products stay far below what 64 bits hold.
constexpr std::int64_t most_ranks = 65536;
constexpr const char* folder_prefix = "replica-";

void read_axes(const JsonKeys& keys, Mesh& mesh) {
  const JsonKeys axes = keys.object("axes");
  for (const auto& [name, size] : keys.at("axes").items()) {
    mesh.axes[name] = axes.integer(name, 1, most_ranks);
    if (mesh.world_size() > most_ranks) axes.fail(name, "makes more than " + to_text(most_ranks) + " ranks");
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

/// A reference holds whole parameters, and a part has another shape and other bits.
void refuse_shards(const JsonKeys& keys) {
  if (!keys.has_value("sharded")) return;
  const auto names = keys.texts("sharded");
  if (!names.empty())
    keys.fail("sharded", "of " + join(names, ", ") +
                             " each rank holds a part, and a reference the whole: such a run is not judged; record one "
                             "whose parameters are whole");
}

bool holds_replicas(const fs::path& folder) {
  std::error_code none;
  return fs::is_directory(folder / (folder_prefix + std::string("0")), none) &&
         !fs::exists(folder / "manifest.json", none);
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
  return mesh;
}

fs::path replica_folder(const fs::path& folder, std::optional<std::int64_t> replica) {
  if (!holds_replicas(folder)) {
    if (!replica || !fs::exists(folder / "manifest.json")) return folder;
    const auto mesh = read_manifest(folder).mesh;
    if (mesh && mesh->replica != *replica)
      throw InputError(folder.string() + ": is " + mesh->name() + ", not replica " + to_text(*replica));
    return folder;
  }
  if (!replica)
    throw InputError(folder.string() +
                     ": holds a record for each of several pipelines (replica-0, ...); choose one: "
                     "--replica 0");
  const fs::path chosen = folder / (folder_prefix + to_text(*replica));
  if (!fs::is_directory(chosen)) throw InputError(chosen.string() + ": is not there; choose a replica that is");
  const auto mesh = read_manifest(chosen).mesh;
  if (!mesh || mesh->replica != *replica)
    throw InputError((chosen / "manifest.json").string() + ": key mesh.replica: is " +
                     (mesh ? to_text(mesh->replica) : "missing") + " in the folder of replica " + to_text(*replica));
  return chosen;
}

}  // namespace plumbline
