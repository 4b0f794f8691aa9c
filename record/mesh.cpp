// SPDX-License-Identifier: BSD-3-Clause
#include "record/mesh.hpp"

#include <fmt/format.h>

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
  constexpr std::size_t most_axes = 16;
  if (keys.at("axes").size() > most_axes) keys.fail("axes", fmt::format("has more than {} axes", most_axes));
  for (const auto& [name, size] : keys.at("axes").items()) {
    mesh.axes[name] = axes.integer(name, 1, most_ranks_of_a_mesh);
    if (mesh.world_size() > most_ranks_of_a_mesh)
      axes.fail(name, fmt::format("makes more than {} ranks", most_ranks_of_a_mesh));
  }
  mesh.pipeline = keys.text("pipeline");
  if (!mesh.axes.contains(mesh.pipeline)) keys.fail("pipeline", fmt::format("'{}' is none of the axes", mesh.pipeline));
}

void read_replicas(const JsonKeys& keys, Mesh& mesh) {
  const Json& replicas = keys.at("replicas");
  const auto is_list = [](const Json& list) {
    return list.is_array() && std::ranges::all_of(list, &Json::is_number_integer);
  };
  if (!replicas.is_array() || replicas.empty() || !std::ranges::all_of(replicas, is_list))
    keys.fail("replicas", "must list the ranks of each pipeline");
  const std::int64_t world = mesh.world_size(), length = mesh.axes.at(mesh.pipeline);
  std::vector<std::optional<std::int64_t>> replica_of(static_cast<std::size_t>(world));
  for (const Json& list : replicas) {
    const auto number = static_cast<std::int64_t>(mesh.replicas.size());
    for (const auto rank : list.get<std::vector<std::int64_t>>()) {
      if (rank < 0 || rank >= world)
        keys.fail("replicas",
                  fmt::format("rank {} is none of the {} that the sizes of the axes multiply to", rank, world));
      auto& taken = replica_of[static_cast<std::size_t>(rank)];
      if (taken) keys.fail("replicas", fmt::format("rank {} is in replica {} and in replica {}", rank, *taken, number));
      taken = number;
    }
    if (std::ssize(list) != length)
      keys.fail("replicas", fmt::format("replica {} has {} ranks, but axis '{}' has {}", number, list.size(),
                                        mesh.pipeline, length));
    mesh.replicas.push_back(list.get<std::vector<std::int64_t>>());
  }
  const auto left_out = std::find(replica_of.begin(), replica_of.end(), std::nullopt);
  if (left_out != replica_of.end())
    keys.fail("replicas", fmt::format("rank {} is in none of them", left_out - replica_of.begin()));
}

/// The distinct parts must follow each other from 0 to the parameter's size; several replicas may hold the same one.
void require_whole(const JsonKeys& keys, const std::string& parameter, const Sharding& sharding) {
  std::int64_t end = 0;
  for (const auto& part : std::set(sharding.parts.begin(), sharding.parts.end())) {
    if (part.first == part.second) continue;
    if (part.first != end)
      keys.fail(parameter, fmt::format("index {} along dimension {} is in {}", std::min(part.first, end),
                                       sharding.dimension, part.first > end ? "no part" : "two parts"));
    end = part.second;
  }
  if (end != sharding.size)
    keys.fail(parameter,
              fmt::format("index {} along dimension {} of {} is in no part", end, sharding.dimension, sharding.size));
}

void read_sharded(const JsonKeys& keys, Mesh& mesh) {
  if (!keys.has_value("sharded") || keys.at("sharded") == Json::array()) return;
  const JsonKeys all = keys.object("sharded");
  constexpr std::int64_t most_elements = std::int64_t{1} << 48;
  for (const auto& [name, one] : keys.members("sharded")) {
    one.refuse_unknown({"dimension", "size", "parts"});
    Sharding sharding;
    sharding.dimension = one.integer("dimension", 0, 7);
    sharding.size = one.integer("size", 0, most_elements);
    const Json& parts = one.at("parts");
    const auto is_range = [&](const Json& part) {
      const auto is_index = [&](const Json& index) {
        return index.is_number_integer() && index >= 0 && index <= sharding.size;
      };
      return part.is_array() && part.size() == 2 && std::all_of(part.begin(), part.end(), is_index) &&
             part[0] <= part[1];
    };
    if (!parts.is_array() || parts.size() != mesh.replicas.size() || !std::all_of(parts.begin(), parts.end(), is_range))
      one.fail("parts", "must list for each replica the range [begin, end) that it holds");
    for (const Json& part : parts) sharding.parts.emplace_back(part[0], part[1]);
    require_whole(all, name, sharding);
    mesh.sharded[name] = std::move(sharding);
  }
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

Mesh mesh_in(const fs::path& folder, std::int64_t replica) {
  const auto mesh = read_manifest(folder / replica_folder_name(replica)).mesh;
  if (!mesh || mesh->replica != replica)
    throw InputError(fmt::format("{}: key mesh.replica: is {} in the folder of replica {}",
                                 (folder / replica_folder_name(replica) / "manifest.json").string(),
                                 mesh ? to_text(mesh->replica) : "missing", replica));
  return *mesh;
}

std::string in_words(const Mesh& mesh) {
  std::vector<std::string> axes, replicas;
  for (const auto& [name, size] : mesh.axes) axes.push_back(fmt::format("{} {}", name, size));
  for (const auto& ranks : mesh.replicas) replicas.push_back(fmt::format("[{}]", join(ranks, ", ")));
  return fmt::format("axes {} with the pipeline along {}, replicas {}{}{}", join(axes, ", "), mesh.pipeline,
                     join(replicas, " "), mesh.own_gradients ? ", gradients of its own" : "",
                     mesh.sharded.empty() ? "" : fmt::format(", {} parameters in parts", mesh.sharded.size()));
}

}  // namespace

std::string Sharding::name_of(const std::string& parameter, std::int64_t replica) const {
  const auto& [begin, end] = parts.at(static_cast<std::size_t>(replica));
  if (begin == end) return "";
  std::string before;
  for (std::int64_t i = 0; i < dimension; ++i) before += ":,";
  return fmt::format("{}[{}{}:{}]", parameter, before, begin, end);
}

std::int64_t Mesh::world_size() const {
  std::int64_t product = 1;
  for (const auto& [name, size] : axes) product *= size;
  return product;
}

std::string Mesh::name() const {
  return fmt::format("replica {} of {}", replica, replicas.size());
}

Mesh read_mesh(const JsonKeys& keys, std::int64_t ranks) {
  keys.refuse_unknown({"axes", "pipeline", "replicas", "replica", "sharded", "gradients"});
  Mesh mesh;
  read_axes(keys, mesh);
  read_replicas(keys, mesh);
  mesh.replica = keys.integer("replica", 0, std::ssize(mesh.replicas) - 1);
  if (mesh.axes.at(mesh.pipeline) != ranks)
    keys.fail("pipeline", fmt::format("axis '{}' has {} ranks, but world_size, the size of one pipeline, is {}",
                                      mesh.pipeline, mesh.axes.at(mesh.pipeline), ranks));
  read_sharded(keys, mesh);
  if (keys.has_value("gradients")) {
    const std::string gradients = keys.text("gradients");
    if (gradients != "reduced" && gradients != "own")
      keys.fail("gradients",
                fmt::format("is '{}'; they are `reduced` (over replicas) or each replica's `own`", gradients));
    mesh.own_gradients = gradients == "own";
  }
  return mesh;
}

fs::path replica_folder(const fs::path& folder, std::optional<std::int64_t> replica) {
  if (replicas_in(folder).empty()) {
    if (!replica || !fs::exists(folder / "manifest.json")) return folder;
    const auto mesh = read_manifest(folder).mesh;
    if (mesh && mesh->replica != *replica)
      throw InputError(fmt::format("{}: is {}, not replica {}", folder.string(), mesh->name(), *replica));
    return folder;
  }
  if (!replica) {
    replica_folders(folder);
    throw InputError(
        fmt::format("{}: holds a record for each of several pipelines (replica-0, ...); choose one: "
                    "--replica 0",
                    folder.string()));
  }
  const fs::path chosen = folder / replica_folder_name(*replica);
  if (!fs::is_directory(chosen)) throw InputError(chosen.string() + ": does not exist; choose an existing replica");
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
    const fs::path own = folder / replica_folder_name(number);
    if (!numbers.contains(number))
      throw InputError(fmt::format("{}: does not exist, but by the mesh of the others {} pipelines trained in parallel",
                                   own.string(), count));
    const Mesh mesh = mesh_in(folder, number);
    const std::string manifest = (own / "manifest.json").string();
    if (mesh.sharded != first.sharded)
      throw InputError(fmt::format("{}: key mesh.sharded: is not that of replica 0 of the same run", manifest));
    if (in_words(mesh) != in_words(first))
      throw InputError(fmt::format("{}: key mesh: says {}; replica 0 of the same run says {}", manifest, in_words(mesh),
                                   in_words(first)));
    folders.push_back(own);
  }
  if (*numbers.rbegin() >= count)
    throw InputError(fmt::format(
        "{}: exists, but by the mesh of the others {} pipelines trained in parallel: is it from an earlier run?",
        (folder / replica_folder_name(*numbers.rbegin())).string(), count));
  return folders;
}

fs::path record_of_replica(const fs::path& folder, std::optional<std::int64_t> replica) {
  return replicas_in(folder).empty() ? folder : folder / replica_folder_name(replica.value_or(0));
}

}  // namespace plumbline
