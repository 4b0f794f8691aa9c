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
  constexpr std::size_t most_axes = 16;
  const Json& list = keys.at("axes");
  if (!list.is_array() || list.empty() || list.size() > most_axes)
    keys.fail("axes", fmt::format("must be a list of 1 to {} axes", most_axes));
  std::set<std::string> names;
  for (const JsonKeys& axis : keys.objects("axes")) {
    axis.refuse_unknown({"name", "size", "kind"});
    mesh.axes.push_back({.name = axis.text("name"),
                         .size = axis.integer("size", 1, most_ranks_of_a_mesh),
                         .kind = axis.word("kind", {"pipeline", "replicate", "shard", "tensor", "context", "expert"})});
    if (!names.insert(mesh.axes.back().name).second)
      axis.fail("name", fmt::format("two axes have the name '{}'", mesh.axes.back().name));
    if (mesh.world_size() > most_ranks_of_a_mesh)
      axis.fail("size", fmt::format("makes more than {} ranks", most_ranks_of_a_mesh));
  }
  if (std::ranges::count(mesh.axes, "pipeline", &MeshAxis::kind) != 1)
    keys.fail("axes", "one axis, and only one, must be of the kind pipeline (of size 1 without stages)");
}

void read_replicas(const JsonKeys& keys, Mesh& mesh) {
  const Json& replicas = keys.at("replicas");
  const auto is_list = [](const Json& list) {
    return list.is_array() && std::ranges::all_of(list, &Json::is_number_integer);
  };
  if (!replicas.is_array() || replicas.empty() || !std::ranges::all_of(replicas, is_list))
    keys.fail("replicas", "must list the ranks of each pipeline");
  const std::int64_t world = mesh.world_size(), length = mesh.pipeline().size;
  std::vector<std::optional<std::int64_t>> replica_of(static_cast<std::size_t>(world));
  for (const Json& list : replicas) {
    const auto number = static_cast<std::int64_t>(mesh.replicas.size());
    for (const auto rank : list.get<std::vector<std::int64_t>>()) {
      if (rank < 0 || rank >= world)
        keys.fail("replicas", fmt::format("rank {} is outside the mesh, whose axes give {} ranks", rank, world));
      auto& taken = replica_of[static_cast<std::size_t>(rank)];
      if (taken) keys.fail("replicas", fmt::format("rank {} is in replica {} and in replica {}", rank, *taken, number));
      taken = number;
    }
    if (std::ssize(list) != length)
      keys.fail("replicas", fmt::format("replica {} has {} ranks, but axis '{}' has {}", number, list.size(),
                                        mesh.pipeline().name, length));
    mesh.replicas.push_back(list.get<std::vector<std::int64_t>>());
  }
  const auto left_out = std::find(replica_of.begin(), replica_of.end(), std::nullopt);
  if (left_out != replica_of.end())
    keys.fail("replicas", fmt::format("rank {} is in none of them", left_out - replica_of.begin()));
}

void read_parts(const JsonKeys& keys, Mesh& mesh) {
  if (!keys.has_value("parts")) return;
  for (const auto& [name, one] : keys.members("parts")) {
    one.refuse_unknown({"axes", "placements"});
    ParameterPart part{one.texts("axes"), one.text("placements")};
    if (part.axes.empty()) one.fail("axes", "must name the axes along which places hold different parts");
    for (const std::string& axis : part.axes) {
      const auto found = std::ranges::find(mesh.axes, axis, &MeshAxis::name);
      if (found == mesh.axes.end() || found->kind == "pipeline")
        one.fail("axes", fmt::format("'{}' is not an axis along which places differ", axis));
    }
    mesh.parts[name] = std::move(part);
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

std::string axis_words(const MeshAxis& axis) {
  return fmt::format("{} {} ({})", axis.name, axis.size, axis.kind);
}

std::string in_words(const Mesh& mesh) {
  std::vector<std::string> axes, replicas;
  for (const MeshAxis& axis : mesh.axes) axes.push_back(axis_words(axis));
  for (const auto& ranks : mesh.replicas) replicas.push_back(fmt::format("[{}]", join(ranks, ", ")));
  return fmt::format("axes {}, replicas {}{}{}", join(axes, ", "), join(replicas, " "),
                     mesh.own_gradients ? ", gradients of its own" : "",
                     mesh.parts.empty() ? "" : fmt::format(", {} parameters in parts", mesh.parts.size()));
}

/// The axes that places differ along.
std::vector<MeshAxis> place_axes(const Mesh& mesh) {
  std::vector<MeshAxis> axes;
  for (const MeshAxis& axis : mesh.axes) {
    if (axis.kind != "pipeline" && axis.size > 1) axes.push_back(axis);
  }
  return axes;
}

std::string words_of(const std::vector<MeshAxis>& axes) {
  std::vector<std::string> words;
  for (const MeshAxis& axis : axes) words.push_back(axis_words(axis));
  return axes.empty() ? "none" : join(words, ", ");
}

std::string words_of(const std::map<std::string, ParameterPart>& parts, const std::string& parameter) {
  const auto found = parts.find(parameter);
  return found == parts.end() ? "whole" : fmt::format("in parts ({})", found->second.placements);
}

}  // namespace

const MeshAxis& Mesh::pipeline() const {
  return *std::ranges::find(axes, "pipeline", &MeshAxis::kind);
}

std::int64_t Mesh::world_size() const {
  std::int64_t product = 1;
  for (const MeshAxis& axis : axes) product *= axis.size;
  return product;
}

std::vector<std::int64_t> Mesh::coordinates(std::int64_t place,
                                            const std::function<bool(const MeshAxis&)>& chosen) const {
  std::vector<std::int64_t> found(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    if (axes[i].kind == "pipeline") continue;
    if (chosen(axes[i])) found[i] = place % axes[i].size;
    place /= axes[i].size;
  }
  return found;
}

std::vector<std::int64_t> Mesh::part_at(std::int64_t place, const std::string& parameter) const {
  const auto part = parts.find(parameter);
  return coordinates(place, [&](const MeshAxis& axis) {
    return part != parts.end() && std::ranges::find(part->second.axes, axis.name) != part->second.axes.end();
  });
}

std::string Mesh::place_name(std::int64_t place) const {
  const auto at = coordinates(place, [](const MeshAxis&) { return true; });
  std::vector<std::string> words;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].kind != "pipeline" && axes[i].size > 1) words.push_back(fmt::format("{} {}", axes[i].name, at[i]));
  }
  return words.empty() ? "the only place" : join(words, ", ");
}

std::string Mesh::sizes() const {
  std::vector<std::string> words;
  for (const MeshAxis& axis : place_axes(*this)) words.push_back(fmt::format("{} {}", axis.name, axis.size));
  return join(words, ", ");
}

std::vector<std::string> why_other_places(const std::optional<Mesh>& reference, const std::optional<Mesh>& candidate) {
  const Mesh none;
  const Mesh &one = reference ? *reference : none, &other = candidate ? *candidate : none;
  std::vector<std::string> words;
  if (reference && candidate && place_axes(one) != place_axes(other))
    words.push_back(
        fmt::format("the mesh's axes but the pipeline's are {} in the reference and {} in the candidate; record the "
                    "reference on the candidate's mesh with one pipeline rank",
                    words_of(place_axes(one)), words_of(place_axes(other))));
  std::set<std::string> names;
  for (const Mesh* mesh : {&one, &other}) {
    for (const auto& [name, part] : mesh->parts) names.insert(name);
  }
  std::vector<std::string> differing;
  for (const std::string& name : names) {
    if (words_of(one.parts, name) != words_of(other.parts, name)) differing.push_back(name);
  }
  if (!differing.empty()) {
    const std::string &name = differing.front(), others = std::to_string(differing.size() - 1);
    words.push_back(fmt::format(
        "{} is {} in the reference and {} in the candidate{}; a reference that holds whole parameters cuts them along "
        "one axis with Record(slices=\"CANDIDATE/replica-0/manifest.json\")",
        name, words_of(one.parts, name), words_of(other.parts, name),
        differing.size() > 1 ? fmt::format(", and so are {} more", others) : ""));
  }
  return words;
}

Mesh read_mesh(const JsonKeys& keys, std::int64_t ranks) {
  keys.refuse_unknown({"axes", "replicas", "replica", "parts", "gradients"});
  Mesh mesh;
  read_axes(keys, mesh);
  read_replicas(keys, mesh);
  mesh.replica = keys.integer("replica", 0, std::ssize(mesh.replicas) - 1);
  if (mesh.pipeline().size != ranks)
    keys.fail("axes", fmt::format("axis '{}' has {} ranks, but world_size, the size of one pipeline, is {}",
                                  mesh.pipeline().name, mesh.pipeline().size, ranks));
  read_parts(keys, mesh);
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
      throw InputError(fmt::format("{}: is replica {} ({}), not replica {}", folder.string(), mesh->replica,
                                   mesh->name(), *replica));
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
    if (mesh.parts != first.parts)
      throw InputError(fmt::format("{}: key mesh.parts: differs from replica 0 of the same run", manifest));
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
