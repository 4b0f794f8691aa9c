#include "record/manifest.hpp"

#include <algorithm>
#include <limits>

#include "record/json_keys.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

// A reader makes something of each rank, and counts the rest in 32 bits.
constexpr std::int64_t most_ranks = 65536;
constexpr std::int64_t most_counted = std::numeric_limits<std::int32_t>::max();

/// "plumbline-record/<version>" of the version that we know.
void check_schema(const std::filesystem::path& path, const JsonKeys& keys) {
  const std::string schema = keys.text("schema");
  if (schema == record_schema) return;
  const std::string known = record_schema;
  const std::string family = known.substr(0, known.find('/') + 1);
  const auto version = schema.starts_with(family) ? parse_integer(schema.substr(family.size())) : std::nullopt;
  const auto our_version = parse_integer(known.substr(family.size()));
  if (version && *version > *our_version)
    throw InputError(path.string() + ": written by a newer version (schema " + schema + "); this one reads " + known +
                     ": use a newer plumbline");
  throw InputError(path.string() + ": schema '" + schema + "' is not known; this version reads " + known);
}

void read_data(const JsonKeys& data, Manifest& manifest) {
  manifest.data_digest = data.text("digest");
  manifest.microbatches = data.integer("microbatches", 1, most_counted);
  data.text("source");
}

void read_schedule(const JsonKeys& schedule, Manifest& manifest) {
  manifest.schedule_name = schedule.text("name");
  manifest.chunks_per_rank = schedule.integer("chunks_per_rank", 1, most_ranks);
  schedule.integer("microbatches", 1);
  // A trainer of someone else's may have no list; it says so with null.
  const bool may_lack = manifest.role == "external" && schedule.has("digest");
  manifest.schedule_digest = may_lack ? schedule.optional_text("digest").value_or("") : schedule.text("digest");
  manifest.accumulation = schedule.word("accumulation", {"ascending", "descending", "listed"});
  manifest.accumulation_digest = schedule.optional_text("accumulation_digest").value_or("");
  if (manifest.accumulation == "listed" && manifest.accumulation_digest.empty())
    schedule.fail("accumulation_digest", "must be given where accumulation is 'listed'");
}

void read_stages(const JsonKeys& keys, Manifest& manifest) {
  for (const JsonKeys& entry : keys.objects("stages")) {
    const auto expected = static_cast<std::int64_t>(manifest.stages.size());
    StageEntry stage;
    stage.stage = entry.integer("stage", 0);
    if (stage.stage != expected)
      entry.fail("stage",
                 "is " + to_text(stage.stage) + " where " + to_text(expected) + " comes next; list them in order");
    stage.rank = entry.integer("rank", 0, manifest.world_size - 1);
    stage.units = entry.texts("units");
    manifest.stages.push_back(std::move(stage));
  }
  if (manifest.stages.empty()) keys.fail("stages", "must list at least one stage");
}

/// A model has no layer that no stage holds; and to list layers costs memory.
void check_layers(const JsonKeys& keys, const Manifest& manifest) {
  const Json layers = keys.at("model").value("num_hidden_layers", Json());
  std::size_t units = 0;
  for (const StageEntry& stage : manifest.stages) units += stage.units.size();
  if (layers.is_number_integer() && layers > units)
    keys.fail("model.num_hidden_layers",
              "is " + json_text(layers) + ", yet the stages list " + std::to_string(units) + " units");
}

void read_tied(const JsonKeys& keys, Manifest& manifest) {
  const Json& tied = keys.at("tied");
  if (!tied.is_array()) keys.fail("tied", "must be a list of lists of names");
  for (const Json& names : tied) {
    const bool texts = names.is_array() && names.size() >= 2 &&
                       std::all_of(names.begin(), names.end(), [](const Json& name) { return name.is_string(); });
    if (!texts) keys.fail("tied", "each element must list the two or more names of one weight");
    manifest.tied.push_back(names.get<std::vector<std::string>>());
  }
}

/// The numbers that decide an optimiser's step. Another optimiser than ours may be compared too: its keys are its own.
void check_optimizer(const JsonKeys& optimizer) {
  const std::string name = optimizer.text("name");
  std::vector<std::string> numbers{"learning_rate"};
  if (name == "adamw") numbers = {"learning_rate", "beta1", "beta2", "eps", "weight_decay"};
  if (name == "sgd") numbers = {"learning_rate", "momentum", "weight_decay"};
  for (const std::string& key : numbers) optimizer.number(key);
}

void check_optional_kinds(const JsonKeys& keys) {
  if (keys.has("command")) keys.texts("command");
  for (const char* key : {"versions", "machine", "environment"})
    if (keys.has(key)) keys.object(key);
  if (keys.has("clock_skew_ns")) keys.number("clock_skew_ns");
}

}  // namespace

Manifest parse_manifest(const std::filesystem::path& path, const Json& json) {
  Manifest manifest;
  manifest.json = json;
  const JsonKeys keys(path, json);
  check_schema(path, keys);
  manifest.run_id = keys.text("run_id");
  if (manifest.run_id.empty()) keys.fail("run_id", "must not be empty");
  manifest.role = keys.word("role", {"reference", "pipeline", "external"});
  keys.object("model");
  manifest.seed = keys.integer("seed", std::numeric_limits<std::int64_t>::min());
  manifest.dtype = keys.text("dtype");
  manifest.device = keys.text("device");
  if (keys.has("transport")) manifest.transport = keys.text("transport");
  manifest.world_size = keys.integer("world_size", 1, most_ranks);
  manifest.steps = keys.integer("steps", 1, most_counted);
  read_data(keys.object("data"), manifest);
  read_schedule(keys.object("schedule"), manifest);
  read_stages(keys, manifest);
  check_layers(keys, manifest);
  read_tied(keys, manifest);
  if (keys.has("frozen")) manifest.frozen = keys.texts("frozen");
  if (keys.has("loss_scaling")) manifest.loss_scaling = keys.word("loss_scaling", {"before", "after"});
  if (keys.has("boundary_gradient_factor")) manifest.boundary_gradient_factor = keys.number("boundary_gradient_factor");
  check_optimizer(keys.object("optimizer"));
  if (!keys.at("clip_norm").is_null()) manifest.clip_norm = keys.number("clip_norm");
  manifest.level = parse_record_level(keys.word("level", {"none", "summary", "full", "dump"}));
  keys.text("started");
  check_optional_kinds(keys);
  return manifest;
}

Manifest read_manifest(const std::filesystem::path& record) {
  const std::filesystem::path path = record / "manifest.json";
  if (!std::filesystem::exists(path))
    throw InputError(record.string() + ": holds no manifest.json, so it is no run record; check the path");
  return parse_manifest(path, read_json(path));
}

}  // namespace plumbline
