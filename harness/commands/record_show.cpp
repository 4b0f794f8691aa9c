// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <vector>

#include "harness/commands/commands.hpp"
#include "harness/judge/facts/fact.hpp"
#include "record/manifest.hpp"
#include "record/record_stream.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// Counts of one rank.
struct Shown {
  std::map<std::string, std::int64_t> rows;   ///< by table
  std::map<std::string, std::int64_t> kinds;  ///< of tensors, and sides of boundaries
  std::int64_t steps = 0;

  void add(const RankRecord& rank) {
    const std::pair<const char*, std::size_t> tables[] = {
        {"steps.csv", rank.steps.size()},           {"microbatches.csv", rank.microbatches.size()},
        {"tensors.csv", rank.tensors.size()},       {"boundaries.csv", rank.boundaries.size()},
        {"actions.csv", rank.actions.size()},       {"memory.csv", rank.memory.size()},
        {"gpu_memory.csv", rank.gpu_memory.size()}, {"traffic.csv", rank.traffic.size()},
        {"evaluation.csv", rank.evaluation.size()}};
    for (const auto& [name, number] : tables) rows[name] += static_cast<std::int64_t>(number);
    for (const auto& row : rank.tensors) ++kinds[row.kind];
    for (const auto& row : rank.boundaries) ++kinds[row.side];
    steps += std::ssize(rank.steps);
  }
};

std::string counted(const std::map<std::string, std::int64_t>& numbers) {
  std::vector<std::string> parts;
  for (const auto& [name, number] : numbers) {
    if (number > 0) parts.push_back(std::to_string(number) + " " + name);
  }
  return parts.empty() ? "none" : join(parts, ", ");
}

std::string line(const std::string& what, const std::string& words) {
  constexpr std::size_t width = 16;
  return what + std::string(what.size() < width ? width - what.size() : 1, ' ') + words + "\n";
}

/// "adamw, learning_rate 0.001, beta1 0.9".
std::string optimizer_text(const Json& optimizer) {
  const auto plain = [](const Json& value) { return value.is_string() ? value.get<std::string>() : json_text(value); };
  if (!optimizer.is_object()) return plain(optimizer);
  std::vector<std::string> parts;
  for (const auto& [key, value] : optimizer.items()) parts.push_back((key == "name" ? "" : key + " ") + plain(value));
  return join(parts, ", ");
}

std::string training_text(const Manifest& manifest) {
  std::string text = line("optimizer", optimizer_text(manifest.json.at("optimizer")));
  std::string clip = "none";
  if (manifest.clip_norm) {
    clip = to_text(*manifest.clip_norm);
    if (manifest.clip_epsilon != 0) clip += ", epsilon " + to_text(manifest.clip_epsilon);
    clip += manifest.norm_order == "per_rank" ? ", of a norm summed rank by rank" : ", of a norm in canonical order";
  }
  text += line("clipping", clip);
  text += line("loss scaling", manifest.loss_scaling);
  std::vector<std::string> tied;
  for (const auto& names : manifest.tied) tied.push_back(join(names, " = "));
  text += line("tied", tied.empty() ? "none" : join(tied, "; "));
  if (!manifest.frozen.empty()) text += line("frozen", join(manifest.frozen, ", "));
  return text;
}

std::string mesh_text(const Mesh& mesh) {
  std::vector<std::string> axes, ranks;
  for (const auto& [name, size, kind] : mesh.axes) axes.push_back(name + " " + to_text(size) + " (" + kind + ")");
  for (const auto rank : mesh.replicas.at(static_cast<std::size_t>(mesh.replica))) ranks.push_back(to_text(rank));
  return mesh.name() + " (replica " + to_text(mesh.replica) + "), ranks " + join(ranks, ", ") + " of the run; axes " +
         join(axes, ", ") +
         (mesh.parts.empty() ? "" : "; " + quantity(std::ssize(mesh.parts), "parameter") + " in parts");
}

std::string rank_text(const RankRecord& rank, const Shown& shown) {
  std::string ended = "no exit.json: killed, or still running";
  if (rank.exit) ended = rank.exit->status + ", code " + std::to_string(rank.exit->code);
  const std::string name = "rank " + std::to_string(rank.rank);
  std::string text = line(name, ended + "; " + quantity(shown.steps, "whole step"));
  text += line("  rows", counted(shown.rows));
  if (!shown.kinds.empty()) text += line("  digests", counted(shown.kinds));
  if (!rank.absent.empty()) text += line("  absent", join(rank.absent, ", "));
  if (!rank.cut_off.empty()) text += line("  cut off", join(rank.cut_off, ", "));
  return text;
}

}  // namespace

void show_facts(const std::filesystem::path& path, const std::function<void(const std::string&)>& line) {
  RecordStream stream(path);
  line(judging::fact_header());
  while (const auto step = stream.next_step()) {
    stream.go_to(*step);
    for (const judging::Fact& fact : judging::recorded_facts(stream.record())) line(judging::csv_of(*step, fact));
  }
}

std::string shown_record(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path))
    throw InputError(path.string() + ": is not a folder; give the folder that contains manifest.json");
  RecordStream stream(path);
  const Record& record = stream.record();
  const Manifest& manifest = record.manifest;
  std::vector<Shown> ranks(record.ranks.size());
  while (const auto step = stream.next_step()) {
    stream.go_to(*step);
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i].add(record.ranks[i]);
  }
  std::string text = line("record", path.string());
  text += line("run", manifest.run_id + ", " + manifest.role + ", " + record_schema_name());
  text += line("level", to_text(manifest.level) + ", " + manifest.dtype + " on " + manifest.device);
  text +=
      line("size", to_text(manifest.world_size) + " ranks, " + to_text(manifest.steps - manifest.first_step) +
                       " steps of " + to_text(manifest.microbatches) + " microbatches, seed " + to_text(manifest.seed));
  if (manifest.resumed_from)
    text += line("begins", "with step " + to_text(manifest.first_step) + " of " + to_text(manifest.steps) +
                               ", resuming run " + manifest.resumed_from->run_id);
  if (manifest.every > 1)
    text += line("every", to_text(manifest.every) + ": step i of the record is step " + to_text(manifest.every) +
                              " i of the run");
  if (manifest.mesh) text += line("mesh", mesh_text(*manifest.mesh));
  text += line("schedule", manifest.schedule_name + (record.schedule_csv ? "" : " (no schedule.csv)") +
                               ", gradients summed " + manifest.accumulation);
  text += training_text(manifest);
  for (const StageEntry& stage : manifest.stages)
    text += line("stage " + to_text(stage.stage),
                 "rank " + to_text(stage.rank) + ": " + (stage.units.empty() ? "no unit" : join(stage.units, ", ")));
  for (std::size_t i = 0; i < ranks.size(); ++i) text += rank_text(record.ranks[i], ranks[i]);
  return text;
}

}  // namespace plumbline
