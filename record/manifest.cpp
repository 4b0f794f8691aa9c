// SPDX-License-Identifier: BSD-3-Clause
#include "record/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "record/digest.hpp"
#include "record/json_keys.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"
#include "support/llama_keys.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

// Readers allocate per rank and count everything else in 32 bits.
constexpr std::int64_t most_ranks = 65536;
constexpr std::int64_t most_counted = std::numeric_limits<std::int32_t>::max();

/// Further keys are kept.
const std::vector<std::string> keys_of_a_manifest = {"schema",       "run_id",
                                                     "role",         "command",
                                                     "model",        "seed",
                                                     "dtype",        "device",
                                                     "threads",      "transport",
                                                     "evaluation",   "recompute",
                                                     "action_times", "world_size",
                                                     "steps",        "data",
                                                     "schedule",     "stages",
                                                     "tied",         "frozen",
                                                     "loss_scaling", "boundary_gradient_factor",
                                                     "optimizer",    "learning_rate_schedule",
                                                     "clip_norm",    "norm_order",
                                                     "clip_epsilon", "every",
                                                     "digest",       "not_recorded",
                                                     "mesh",         "level",
                                                     "versions",     "machine",
                                                     "environment",  "clock_skew_ns",
                                                     "started",      "first_step",
                                                     "resumed_from", "names_stripped",
                                                     "perturbation", "shadow_of"};

void check_schema(const std::filesystem::path& path, const JsonKeys& keys) {
  const std::string schema = keys.text("schema"), family = record_family, known = record_schema_name();
  const std::int64_t number = schema.starts_with(family) ? parse_integer(schema.substr(family.size())).value_or(0) : 0;
  if (number > record_schema)
    throw InputError(fmt::format("{}: written by a newer version (schema {}); this one reads {}: use a newer plumbline",
                                 path.string(), schema, known));
  if (number < record_schema)
    throw InputError(fmt::format("{}: schema '{}' is not known; this version reads {}", path.string(), schema, known));
}

void read_data(const JsonKeys& data, Manifest& manifest) {
  data.refuse_unknown({"source", "microbatches"});
  manifest.microbatches = data.integer("microbatches", 1, most_counted);
  data.text("source");
}

void read_schedule(const JsonKeys& schedule, Manifest& manifest) {
  schedule.refuse_unknown({"name", "chunks_per_rank", "microbatches", "digest", "accumulation", "accumulation_digest"});
  manifest.schedule_name = schedule.text("name");
  manifest.chunks_per_rank = schedule.integer("chunks_per_rank", 1, most_ranks);
  if (schedule.integer("microbatches", 1) != manifest.microbatches)
    schedule.fail("microbatches", "is not data.microbatches, " + to_text(manifest.microbatches));
  // An external trainer may have no list and writes null.
  if (!manifest.external() || !schedule.at("digest").is_null()) manifest.schedule_digest = schedule.digest("digest");
  manifest.accumulation = schedule.word("accumulation", {"ascending", "descending", "listed"});
  const bool listed = manifest.accumulation == "listed";
  if (listed && !schedule.has_value("accumulation_digest"))
    schedule.fail("accumulation_digest", "must be given where accumulation is 'listed'");
  if (listed)
    manifest.accumulation_digest = schedule.digest("accumulation_digest");
  else if (schedule.has_value("accumulation_digest"))
    schedule.fail("accumulation_digest", fmt::format("must be null where accumulation is '{}'", manifest.accumulation));
}

void read_stages(const JsonKeys& keys, Manifest& manifest) {
  for (const JsonKeys& entry : keys.objects("stages")) {
    const auto expected = static_cast<std::int64_t>(manifest.stages.size());
    entry.refuse_unknown({"stage", "rank", "units"});
    StageEntry stage;
    stage.stage = entry.integer("stage", 0);
    if (stage.stage != expected)
      entry.fail("stage", fmt::format("is {} where {} comes next; list them in order", stage.stage, expected));
    stage.rank = entry.integer("rank", 0, manifest.world_size - 1);
    stage.units = entry.texts("units");
    manifest.stages.push_back(std::move(stage));
  }
  if (!manifest.stages.empty()) return;
  std::string words = "must list at least one stage";
  for (const NotRecorded& lacking : manifest.not_recorded)
    words += fmt::format("; not recorded: {} ({})", lacking.what, lacking.why);
  keys.fail("stages", words);
}

/// Refuses more layers than the stages have units: the judge's memory grows with the number of layers.
void check_layers(const JsonKeys& keys, const Manifest& manifest) {
  // A unit of an external trainer may hold several layers.
  if (manifest.external() && first_unit(manifest) != "embed_tokens") return;
  const Json layers = keys.at("model").value("num_hidden_layers", Json());
  std::size_t units = 0;
  for (const StageEntry& stage : manifest.stages) units += stage.units.size();
  if (layers.is_number_integer() && layers > units)
    keys.fail("model.num_hidden_layers", fmt::format("is {}, but the stages list {} units", json_text(layers), units));
}

void read_tied(const JsonKeys& keys, Manifest& manifest) {
  const Json& tied = keys.at("tied");
  if (!tied.is_array()) keys.fail("tied", "must be a list of lists of names");
  std::set<std::string> all;
  for (const Json& names : tied) {
    if (!names.is_array() || names.size() < 2 || !std::ranges::all_of(names, &Json::is_string))
      keys.fail("tied", "each element must list the two or more names of one weight");
    manifest.tied.push_back(names.get<std::vector<std::string>>());
    for (const std::string& name : manifest.tied.back())
      if (!all.insert(name).second)
        keys.fail("tied", fmt::format("names {} twice; list all names of one weight in one group", name));
  }
}

/// Hyperparameters of our optimizers. Other optimizers may be compared, too: their further keys are free.
void check_optimizer(const JsonKeys& optimizer, bool own) {
  const std::map<std::string, std::vector<std::string>> formulas = {
      {"adamw", {"learning_rate", "beta1", "beta2", "eps", "weight_decay"}},
      {"sgd", {"learning_rate", "momentum", "weight_decay"}}};
  const std::string name = own ? optimizer.word("name", {"adamw", "sgd"}) : optimizer.text("name");
  const auto formula = formulas.find(name);
  std::vector<std::string> known =
      formula != formulas.end() ? formula->second : std::vector<std::string>{"learning_rate"};
  for (const std::string& key : known) optimizer.number(key);
  if (optimizer.has("decay")) optimizer.word("decay", {"all", "matrices"});
  known.insert(known.end(), {"name", "decay"});
  if (own) return optimizer.refuse_unknown(known);
  for (const auto& [of, keys] : formulas) known.insert(known.end(), keys.begin(), keys.end());
  known.emplace_back("implementation");
  known.insert(known.end(), optimizer_variants.begin(), optimizer_variants.end());
  optimizer.refuse_misspelled(known);
}

void read_learning_rate_schedule(const JsonKeys& keys, Manifest& manifest) {
  if (manifest.external() && !keys.has_value("learning_rate_schedule")) return;
  const JsonKeys schedule = keys.object("learning_rate_schedule");
  schedule.refuse_unknown({"warmup_steps", "start_factor", "final_factor", "total_steps", "curve", "decay_steps"});
  auto& read = manifest.learning_rate_schedule.emplace();
  read.total_steps = schedule.integer("total_steps", 1);
  read.warmup_steps = schedule.integer("warmup_steps", 0, read.total_steps);
  read.start_factor = schedule.number("start_factor");
  read.final_factor = schedule.number("final_factor");
  if (schedule.has_value("curve")) read.curve = schedule.word("curve", {"cosine", "linear", "constant", "wsd"});
  if (read.curve == "wsd") {
    read.decay_steps = schedule.integer("decay_steps", 1, read.total_steps - read.warmup_steps);
  } else if (schedule.has_value("decay_steps")) {
    schedule.fail("decay_steps", "is a key of the curve wsd");
  }
}

void read_start(const JsonKeys& keys, Manifest& manifest) {
  if (keys.has_value("first_step")) manifest.first_step = keys.integer("first_step", 0, manifest.steps - 1);
  if (keys.has_value("resumed_from")) {
    const JsonKeys from = keys.object("resumed_from");
    from.refuse_unknown({"run_id", "step", "changes"});
    manifest.resumed_from = ResumedFrom{from.text("run_id"), from.integer("step", 1, manifest.steps - 1)};
    if (from.has_value("changes")) {
      for (const JsonKeys& change : from.objects("changes")) {
        change.refuse_unknown({"step", "key", "from", "to"});
        manifest.resumed_from->changes.push_back(
            {{"step", change.integer("step", 1, manifest.resumed_from->step)}, {"key", change.text("key")}});
      }
    }
    if (manifest.resumed_from->run_id == manifest.run_id) from.fail("run_id", "is this run's own");
  }
  const std::int64_t from = manifest.resumed_from ? manifest.resumed_from->step : 0;
  if (from != manifest.first_step)
    keys.fail("first_step", fmt::format("is {}, but {}", manifest.first_step,
                                        manifest.resumed_from
                                            ? fmt::format("resumed_from.step is {}", from)
                                            : "there is no resumed_from, which names the run that this one resumes"));
}

void read_evaluation(const JsonKeys& keys, Manifest& manifest) {
  if (!keys.has_value("evaluation")) return;
  const JsonKeys evaluation = keys.object("evaluation");
  evaluation.refuse_unknown({"every", "microbatches", "source"});
  manifest.evaluation =
      EvaluationPlan{evaluation.integer("every", 0), evaluation.integer("microbatches", 1, most_counted)};
  if (evaluation.has("source")) evaluation.text("source");
}

void read_mesh_of(const JsonKeys& keys, Manifest& manifest) {
  if (!keys.has_value("mesh")) return;
  if (manifest.role == "reference") keys.fail("mesh", "is not allowed, since a reference is one device");
  manifest.mesh = read_mesh(keys.object("mesh"), manifest.world_size);
}

/// Order of the norm's summation and the clipping epsilon: our own trainers have fixed values.
void read_norm(const JsonKeys& keys, Manifest& manifest) {
  if (keys.has_value("norm_order")) manifest.norm_order = keys.word("norm_order", {"canonical", "per_rank"});
  if (keys.has_value("clip_epsilon")) manifest.clip_epsilon = keys.number("clip_epsilon");
  if (!(manifest.clip_epsilon >= 0)) keys.fail("clip_epsilon", "is negative");
  if (keys.has_value("norms_from")) {
    if (!manifest.external()) keys.fail("norms_from", "is allowed only in an external record");
    const JsonKeys from = keys.object("norms_from");
    from.refuse_unknown({"run_id", "rank", "digest"});
    manifest.norms_from = NormsFrom{from.text("run_id"), from.integer("rank", 0, most_ranks - 1), from.text("digest")};
    if (!is_digest(manifest.norms_from->digest)) from.fail("digest", "is not a digest of 32 lower-case hex digits");
  }
  if (manifest.external()) return;
  if (manifest.norm_order != "canonical")
    keys.fail("norm_order", "is 'per_rank', which is allowed only in an external record");
  if (manifest.clip_epsilon != 0) keys.fail("clip_epsilon", "is not 0, which is allowed only in an external record");
}

void read_not_recorded_of(const JsonKeys& keys, Manifest& manifest) {
  if (keys.has("not_recorded") && !manifest.external())
    keys.fail("not_recorded", "is allowed only in an external record");
  manifest.not_recorded = read_not_recorded(keys);
}

void check_role(const JsonKeys& keys, const Manifest& manifest) {
  const std::string digest =
      keys.has_value("digest") ? keys.word("digest", {"xxh3-128", "position-sum-128"}) : "xxh3-128";
  if (manifest.external()) return;
  if (digest != "xxh3-128") keys.fail("digest", "is not 'xxh3-128', which is allowed only in an external record");
  if (manifest.every != 1) keys.fail("every", "is not 1, which is allowed only in an external record");
  if (manifest.accumulation == "descending")
    keys.fail("schedule.accumulation", "is 'descending', which is allowed only in an external record");
  if (manifest.boundary_gradient_factor != 1)
    keys.fail("boundary_gradient_factor", "is not 1, which is allowed only in an external record");
  const auto stages = static_cast<std::int64_t>(manifest.stages.size());
  if (manifest.role == "reference" && manifest.world_size != 1)
    keys.fail("world_size", fmt::format("is {}, but a reference is one device", manifest.world_size));
  if (manifest.role == "reference" && manifest.schedule_name != "sequential")
    keys.fail("schedule.name", fmt::format("is '{}', but a reference's is 'sequential'", manifest.schedule_name));
  const auto expected = manifest.world_size * manifest.chunks_per_rank;
  if (stages != expected)
    keys.fail("stages", fmt::format("are {}, but world_size x schedule.chunks_per_rank is {}", stages, expected));
}

void check_optional_kinds(const JsonKeys& keys) {
  if (keys.has("command")) keys.texts("command");
  for (const char* key : {"versions", "machine", "environment"})
    if (keys.has(key)) keys.object(key);
  if (keys.has("environment") && keys.object("environment").has_value("attention"))
    keys.object("environment").text("attention");  // decides the expected bytes of a layer
  if (keys.has_value("threads")) keys.integer("threads", 1, most_counted);
  if (keys.has_value("clock_skew_ns") && !(keys.number("clock_skew_ns") >= 0))
    keys.fail("clock_skew_ns", "is negative");
}

/// Other families are equivalent to a Llama if their distinguishing features are neutral (docs/getting-started.md).
bool is_equivalent_family(const Json& model_type, const Json& config) {
  /// By family its features, with transformers' defaults of absent keys.
  static const std::map<std::string, std::map<std::string, Json>> features = {
      {"llama", {}},
      {"mistral", {{"sliding_window", 4096}}},
      {"granite", {{"embedding_multiplier", 1}, {"residual_multiplier", 1}, {"logits_scaling", 1}}},
      {"seed_oss", {{"attention_bias", true}, {"residual_dropout", 0.1}}}};
  const auto family = model_type.is_string() ? features.find(model_type.get<std::string>()) : features.end();
  if (family == features.end()) return false;
  return std::ranges::all_of(family->second, [&](const auto& feature) {
    const auto& [key, unsaid] = feature;
    return is_neutral(key, config.contains(key) ? config.at(key) : unsaid, config);
  });
}

}  // namespace

void Manifest::set_role(const std::string& of) {
  role = of;
  conventions = {};
  if (external())
    conventions = {.exact_formulas = false,
                   .exact_bytes = false,
                   .generated_lists = false,
                   .config_of_a_llama = false,
                   .python_recorder = true,
                   .optional = {"norm", "copies", "gradients", "moments", "memory"}};
}

bool is_llama(const Manifest& manifest) {
  if (first_unit(manifest) != "embed_tokens") return false;
  const Json& config = manifest.json.at("model");
  if (const auto type = config.find("model_type"); type != config.end() && !type->is_null())
    return is_equivalent_family(*type, config);
  const auto keys = {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"};
  return std::all_of(keys.begin(), keys.end(), [&](const char* key) { return config.contains(key); });
}

bool Manifest::evaluates_after(std::int64_t step) const {
  if (!evaluation) return false;
  return step + 1 == steps || (evaluation->every > 0 && (step + 1) % evaluation->every == 0);
}

std::string Manifest::version_of(const std::string& library) const {
  const auto versions = json.find("versions");
  if (versions == json.end()) return "";
  const auto found = versions->find(library);
  if (found == versions->end() || !found->is_string()) return "";
  const std::string& version = found->get_ref<const std::string&>();
  const bool plain = version.size() <= 40 && std::ranges::all_of(version, [](unsigned char letter) {
                       return std::isalnum(letter) != 0 || std::strchr(".+-_", letter) != nullptr;
                     });
  return plain ? version : "";
}

std::string first_unit(const Manifest& manifest) {
  for (const StageEntry& stage : manifest.stages) {
    if (!stage.units.empty()) return stage.units.front();
  }
  return "";
}

std::string record_schema_name() {
  return record_family + to_text(record_schema);
}

Manifest parse_manifest(const std::filesystem::path& path, const Json& json) {
  Manifest manifest;
  manifest.json = json;
  const JsonKeys keys(path, json);
  check_schema(path, keys);
  keys.refuse_misspelled(keys_of_a_manifest);
  manifest.run_id = keys.text("run_id");
  if (manifest.run_id.empty()) keys.fail("run_id", "must not be empty");
  manifest.set_role(keys.word("role", {"reference", "pipeline", "external"}));
  keys.object("model");
  manifest.seed = keys.integer("seed", std::numeric_limits<std::int64_t>::min());
  manifest.dtype = keys.word("dtype", {"float32", "float64", "bfloat16", "float16", "mixed"});
  manifest.device = keys.text("device");
  if (keys.has("transport")) manifest.transport = keys.text("transport");
  if (keys.has_value("recompute")) manifest.recompute = keys.word("recompute", {"none", "layer", "attention", "mlp"});
  if (keys.has_value("action_times")) manifest.action_times = keys.word("action_times", {"host", "gpu"});
  manifest.world_size = keys.integer("world_size", 1, most_ranks);
  manifest.steps = keys.integer("steps", 1, most_counted);
  if (keys.has_value("every")) manifest.every = keys.integer("every", 1, most_counted);
  read_mesh_of(keys, manifest);
  read_not_recorded_of(keys, manifest);
  read_start(keys, manifest);
  read_data(keys.object("data"), manifest);
  read_evaluation(keys, manifest);
  read_schedule(keys.object("schedule"), manifest);
  read_stages(keys, manifest);
  check_layers(keys, manifest);
  read_tied(keys, manifest);
  if (keys.has("frozen")) manifest.frozen = keys.texts("frozen");
  if (std::set<std::string>(manifest.frozen.begin(), manifest.frozen.end()).size() != manifest.frozen.size())
    keys.fail("frozen", "names one parameter twice");
  if (keys.has("loss_scaling")) manifest.loss_scaling = keys.word("loss_scaling", {"before", "after"});
  if (keys.has("boundary_gradient_factor")) manifest.boundary_gradient_factor = keys.number("boundary_gradient_factor");
  check_optimizer(keys.object("optimizer"), !manifest.external());
  if (!keys.at("clip_norm").is_null()) manifest.clip_norm = keys.number("clip_norm");
  read_norm(keys, manifest);
  manifest.level = parse_record_level(keys.word("level", {"none", "summary", "full", "dump"}));
  keys.text("started");
  read_learning_rate_schedule(keys, manifest);
  check_role(keys, manifest);
  check_optional_kinds(keys);
  if (manifest.external()) manifest.conventions.config_of_a_llama = is_llama(manifest);
  return manifest;
}

Manifest read_manifest(const std::filesystem::path& record) {
  const std::filesystem::path path = replica_folder(record, {}) / "manifest.json";
  if (!std::filesystem::exists(path))
    throw InputError(record.string() + ": not a run record (there is no manifest.json)");
  return parse_manifest(path, read_json(path));
}

}  // namespace plumbline
