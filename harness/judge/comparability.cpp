// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/comparability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include "harness/judge/expected/expected_model.hpp"
#include "record/manifest.hpp"
#include "record/rank_folder.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

class Differences {
 public:
  explicit Differences(std::string one = "the reference", std::string other = "the candidate")
      : one_(std::move(one)), other_(std::move(other)) {}

  void demand_equal(const std::string& what, const std::string& reference, const std::string& candidate) {
    if (reference != candidate) {
      words.push_back(
          fmt::format("{} is {} in {} and {} in {}", what, named(reference), one_, named(candidate), other_));
    }
  }
  void demand_equal(const std::string& what, const Json& reference, const Json& candidate) {
    if (!same_content(reference, candidate)) demand_equal(what, json_text(reference), json_text(candidate));
  }
  std::vector<std::string> words;

 private:
  static std::string named(const std::string& text) { return text.empty() ? "absent" : text; }

  std::string one_, other_;
};

Json value_or(const Json& object, const std::string& key, const Json& fallback) {
  if (!object.is_object()) return fallback;
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? fallback : *found;
}

Json rope_object(const Json& config) {
  Json rope = value_or(config, "rope_parameters", value_or(config, "rope_scaling", Json::object()));
  return rope.is_object() ? rope : Json::object();
}

/// The RoPE parameters in either spelling, as one object: base and scaling.
Json rope_of(const Json& config) {
  const Json rope = rope_object(config);
  Json plain;
  plain["rope_theta"] = value_or(rope, "rope_theta", value_or(config, "rope_theta", 10000.0));
  plain["rope_type"] = value_or(rope, "rope_type", value_or(rope, "type", "default"));
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}) {
    plain[key] = value_or(rope, key, nullptr);
  }
  return plain;
}

/// Keys of a Llama's config that are compared by name above, or that do not affect the computation: settings of storage
/// and of text generation.
constexpr std::string_view settled_keys[] = {"vocab_size",
                                             "hidden_size",
                                             "intermediate_size",
                                             "num_hidden_layers",
                                             "num_attention_heads",
                                             "num_key_value_heads",
                                             "head_dim",
                                             "attention_bias",
                                             "mlp_bias",
                                             "tie_word_embeddings",
                                             "rms_norm_eps",
                                             "hidden_act",
                                             "rope_theta",
                                             "rope_scaling",
                                             "rope_parameters",
                                             "architectures",
                                             "model_type",
                                             "torch_dtype",
                                             "dtype",
                                             "transformers_version",
                                             "use_cache",
                                             "bos_token_id",
                                             "eos_token_id",
                                             "name_or_path"};

/// Default of an absent key in transformers' Llama; nullopt if it is unknown.
std::optional<Json> value_of_absent(const std::string& key) {
  static const Json values = {{"attention_dropout", 0},
                              {"initializer_range", 0.02},
                              {"pretraining_tp", 1},
                              {"sliding_window", nullptr},
                              {"layer_types", "all full_attention"}};
  const auto found = values.find(key);
  return found == values.end() ? std::nullopt : std::optional<Json>(*found);
}

/// Full attention in all layers equals a Llama's.
bool is_neutral(const std::string& key, const Json& value) {
  return key == "layer_types" && value.is_array() &&
         std::ranges::all_of(value, [](const Json& type) { return type == Json("full_attention"); });
}

/// Keys that are not compared by name, including those within RoPE.
Json other_keys(const Json& config) {
  Json others = Json::object();
  for (const auto& [key, value] : config.items()) {
    if (std::ranges::find(settled_keys, key) == std::end(settled_keys) && !key.starts_with("_")) others[key] = value;
  }
  const Json rope = rope_object(config), named = rope_of(config);
  for (const auto& [key, value] : rope.items()) {
    if (!named.contains(key) && key != "type") others["RoPE's " + key] = value;
  }
  return others;
}

std::set<std::string> keys_of(const Json& one, const Json& other) {
  std::set<std::string> keys;
  for (const Json* config : {&one, &other}) {
    for (const auto& [key, value] : config->items()) keys.insert(key);
  }
  return keys;
}

/// Compares every other key of a Llama: those that both have, and those that one has if the default is known. Adds the
/// others to `alone`.
void compare_other_keys(const Json& reference, const Json& candidate, Differences& differences,
                        std::vector<std::string>& alone) {
  const Json one = other_keys(reference), other = other_keys(candidate);
  for (const std::string& key : keys_of(one, other)) {
    const auto value_in = [&](const Json& config) -> std::optional<Json> {
      const Json value = value_or(config, key, nullptr);
      return value.is_null() || is_neutral(key, value) ? value_of_absent(key) : std::optional(value);
    };
    const auto mine = value_in(one), theirs = value_in(other);
    if (mine && theirs) differences.demand_equal("model: " + key, *mine, *theirs);
    if (mine.has_value() != theirs.has_value()) alone.push_back(key);
  }
}

void compare_models(const Json& reference, const Json& candidate, Differences& differences) {
  const ExpectedModel one = expected_model(reference), other = expected_model(candidate);
  const auto demand = [&](const std::string& key, std::int64_t left, std::int64_t right) {
    differences.demand_equal("model: " + key, to_text(left), to_text(right));
  };
  demand("vocab_size", one.vocabulary, other.vocabulary);
  demand("hidden_size", one.hidden, other.hidden);
  demand("intermediate_size", one.intermediate, other.intermediate);
  demand("num_hidden_layers", one.layers, other.layers);
  demand("num_attention_heads", one.heads, other.heads);
  demand("num_key_value_heads", one.kv_heads, other.kv_heads);
  demand("head_dim", one.head_dim, other.head_dim);
  demand("tie_word_embeddings", one.tied, other.tied);
  demand("attention_bias", one.attention_bias, other.attention_bias);
  demand("mlp_bias", one.mlp_bias, other.mlp_bias);
  differences.demand_equal("model: rms_norm_eps", value_or(reference, "rms_norm_eps", 1e-6),
                           value_or(candidate, "rms_norm_eps", 1e-6));
  differences.demand_equal("model: hidden_act", value_or(reference, "hidden_act", "silu"),
                           value_or(candidate, "hidden_act", "silu"));
  differences.demand_equal("model: RoPE", rope_of(reference), rope_of(candidate));
  std::vector<std::string> alone;
  compare_other_keys(reference, candidate, differences, alone);
}

/// Compares every key of the config of another model, except a library's own notes.
void compare_configs(const Json& reference, const Json& candidate, Differences& differences) {
  for (const auto& key : keys_of(reference, candidate)) {
    if (key.starts_with("_") || key == "transformers_version") continue;
    differences.demand_equal("model: " + key, value_or(reference, key, nullptr), value_or(candidate, key, nullptr));
  }
}

/// The numbers of this optimiser's formula.
std::vector<std::string> numbers_of_optimizer(const Json& optimizer) {
  std::vector<std::string> keys = {"learning_rate", "weight_decay"};
  const Json name = value_or(optimizer, "name", "");
  if (name == "adamw") keys.insert(keys.end(), {"beta1", "beta2", "eps"});
  if (name == "sgd") keys.push_back("momentum");
  return keys;
}

/// Keys of either that are not compared by name. Of several groups, ranks may hold different ones.
std::vector<std::string> other_optimizer_keys(const Json& reference, const Json& candidate) {
  std::vector<std::string> settled = numbers_of_optimizer(reference), others;
  settled.insert(settled.end(), {"name", "decay", "implementation"});
  const Json name = value_or(reference, "name", "");
  if (name == "adamw" || name == "sgd") settled.insert(settled.end(), {"beta1", "beta2", "eps", "momentum"});
  settled.insert(settled.end(), optimizer_variants.begin(), optimizer_variants.end());
  if (value_or(reference, "groups", nullptr) != nullptr || value_or(candidate, "groups", nullptr) != nullptr)
    return others;
  for (const std::string& key : keys_of(reference, candidate)) {
    if (std::ranges::find(settled, key) == settled.end()) others.push_back(key);
  }
  return others;
}

void compare_optimizers(const Json& reference, const Json& candidate, Differences& differences) {
  const Json name = value_or(reference, "name", "");
  differences.demand_equal("optimizer", name, value_or(candidate, "name", ""));
  differences.demand_equal("optimizer: decay", value_or(reference, "decay", "all"),
                           value_or(candidate, "decay", "all"));
  for (const auto& key : numbers_of_optimizer(reference)) {
    differences.demand_equal("optimizer: " + key, value_or(reference, key, nullptr), value_or(candidate, key, nullptr));
  }
  for (const char* key : optimizer_variants) {
    if (std::string_view(key) == "groups") continue;  // of ranks that hold different parameters
    const auto variant = [&](const Json& optimizer) {
      const Json value = value_or(optimizer, key, 0);
      return value == Json(false) ? Json(0) : value;
    };
    differences.demand_equal(std::string("optimizer: ") + key, variant(reference), variant(candidate));
  }
  for (const std::string& key : other_optimizer_keys(reference, candidate)) {
    const Json mine = value_or(reference, key, nullptr), theirs = value_or(candidate, key, nullptr);
    if (!mine.is_null() && !theirs.is_null()) differences.demand_equal("optimizer: " + key, mine, theirs);
  }
}

/// If one lacks it (an external record, schema 1), only the rates of the steps are compared.
void compare_learning_rate_schedules(const Manifest& one, const Manifest& other, Differences& differences) {
  if (!one.learning_rate_schedule || !other.learning_rate_schedule) return;
  const auto &mine = *one.learning_rate_schedule, &theirs = *other.learning_rate_schedule;
  const std::string of = "learning rate schedule: ";
  differences.demand_equal(of + "warmup_steps", to_text(mine.warmup_steps), to_text(theirs.warmup_steps));
  differences.demand_equal(of + "start_factor", to_text(mine.start_factor), to_text(theirs.start_factor));
  differences.demand_equal(of + "final_factor", to_text(mine.final_factor), to_text(theirs.final_factor));
  differences.demand_equal(of + "total_steps", to_text(mine.total_steps), to_text(theirs.total_steps));
}

/// nullopt if the manifest does not describe its machine.
std::optional<std::string> gpu_models(const Manifest& manifest) {
  const Json machine = value_or(manifest.json, "machine", nullptr);
  if (!machine.is_object() || machine.empty()) return std::nullopt;
  const Json models = value_or(machine, "gpus", nullptr);
  return models.is_null() ? "none" : json_text(models);
}

/// "cuda" for "cuda:0".
std::string device_kind(const Manifest& manifest) {
  return manifest.device.substr(0, manifest.device.find(':'));
}

std::string torch_of(const Manifest& manifest) {
  std::string version = manifest.version_of("torch");
  if (version.empty()) version = manifest.version_of("libtorch");
  return version.substr(0, version.find('+'));
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  return names;
}

/// Compares model, data and hyperparameters. `dtype`: the dtype to assume for the first.
void compare_trainings(const Manifest& one, const std::string& dtype, const Manifest& other, Differences& differences) {
  try {
    const Json &config = one.json.at("model"), &theirs = other.json.at("model");
    one.traits.llama&& other.traits.llama ? compare_models(config, theirs, differences)
                                          : compare_configs(config, theirs, differences);
  } catch (const InputError& error) {
    differences.words.push_back(error.what());
  }
  // From schema 2 on the digest is that of each rank's data, and the data check names the differing microbatch.
  if (one.schema == 1 && other.schema == 1) differences.demand_equal("data digest", one.data_digest, other.data_digest);
  differences.demand_equal("microbatches a step", one.microbatches_of_step(), other.microbatches_of_step());
  differences.demand_equal("seed", one.seed, other.seed);
  differences.demand_equal("dtype", dtype, other.dtype);
  differences.demand_equal("steps", to_text(one.steps), to_text(other.steps));
  differences.demand_equal("every", to_text(one.every), to_text(other.every));
  if (one.mesh && other.mesh)
    differences.demand_equal("number of parallel pipelines", std::ssize(one.mesh->replicas),
                             std::ssize(other.mesh->replicas));
  const std::map<std::string, Sharding> whole;
  const auto &parts = one.mesh ? one.mesh->sharded : whole, &others_parts = other.mesh ? other.mesh->sharded : whole;
  if (parts != others_parts)
    differences.words.push_back(fmt::format(
        "of {} parameters replicas hold parts in the reference, of {} in the candidate, or other parts; a reference "
        "that holds them whole records the same parts with Record(slices=\"CANDIDATE/replica-0/manifest.json\")",
        to_text(std::ssize(parts)), to_text(std::ssize(others_parts))));
  const Json threads = value_or(one.json, "threads", nullptr), others = value_or(other.json, "threads", nullptr);
  if (!threads.is_null() && !others.is_null()) differences.demand_equal("threads of a rank", threads, others);
  const auto granularity = [](const Manifest& manifest) {
    return std::string(cuts_layers(manifest) ? "half" : "layer");
  };
  differences.demand_equal("pipeline.granularity", granularity(one), granularity(other));
  // Recomputation does not change bits, only the kept activations: it matters if both records are compared with the
  // activation memory model.
  if (one.traits.own_bytes && other.traits.own_bytes)
    differences.demand_equal("recompute", one.recompute, other.recompute);
  compare_optimizers(value_or(one.json, "optimizer", nullptr), value_or(other.json, "optimizer", nullptr), differences);
  differences.demand_equal("clip_norm", one.clip_norm ? to_text(*one.clip_norm) : "null",
                           other.clip_norm ? to_text(*other.clip_norm) : "null");
  differences.demand_equal("clip_epsilon", to_text(one.clip_epsilon), to_text(other.clip_epsilon));
  differences.demand_equal("order of accumulation", one.accumulation, other.accumulation);
  differences.demand_equal("digest of the accumulation order", one.accumulation_digest, other.accumulation_digest);
  differences.demand_equal("frozen parameters", Json(sorted(one.frozen)), Json(sorted(other.frozen)));
  compare_learning_rate_schedules(one, other, differences);
  if (one.tied.empty() != other.tied.empty()) {
    differences.words.push_back(
        "the tied weights are listed in one manifest only; list them in both (`tied`, Record(tied=[[...]])): a rank "
        "finds those that it holds");
  }
}

constexpr std::size_t chunk = std::size_t{1} << 16;

/// Compares in chunks, up to the first difference.
bool same_bytes(const std::filesystem::path& one, const std::filesystem::path& other) {
  if (!std::filesystem::exists(one) || !std::filesystem::exists(other)) return false;
  const std::size_t size = file_bytes(one);
  if (file_bytes(other) != size) return false;
  std::vector<char> left(chunk), right(chunk);
  for (std::size_t at = 0; at < size; at += chunk) {
    const std::size_t got = read_file_at(one, at, left);
    if (read_file_at(other, at, right) != got || left != right) return false;
  }
  return true;
}

/// True if there are rows after the header.
bool has_rows(const std::filesystem::path& table) {
  std::vector<char> bytes(chunk);
  const std::size_t got = read_file_at(table, 0, bytes);
  const auto header = std::string_view(bytes.data(), got).find('\n');
  return header != std::string_view::npos && header + 1 < file_bytes(table);
}

void refuse_measuring_runs(const Manifest& manifest, const std::string& whose, Differences& differences) {
  const Json perturbation = value_or(manifest.json, "perturbation", nullptr);
  const Json shadow_of = value_or(manifest.json, "shadow_of", nullptr);
  if (!perturbation.is_null()) {
    differences.words.push_back(
        fmt::format("{} is a perturbed run (--perturb {}): its start was perturbed, so it cannot be compared", whose,
                    json_text(perturbation)));
  }
  if (!shadow_of.is_null()) {
    differences.words.push_back(
        fmt::format("{} is the float64 reference of a run in {}: it cannot be compared", whose, json_text(shadow_of)));
  }
}

/// A reference may begin earlier: it is read from the candidate's first step.
void compare_starts(const Record& reference, const Record& candidate, ComparisonMode comparison_mode,
                    Differences& differences) {
  if (reference.first_step != candidate.first_step) {
    differences.words.push_back(
        fmt::format("the reference begins at step {}, the candidate at step {}: nothing can be compared with the "
                    "earlier steps; give the record that begins earlier as the reference",
                    to_text(reference.first_step), to_text(candidate.first_step)));
  }
  if (comparison_mode == ComparisonMode::calibrated && candidate.first_step > 0) {
    differences.words.push_back(
        fmt::format("the candidate resumes a run at step {}, and limits are measured on runs from their start: compare "
                    "such a record in bits",
                    to_text(candidate.first_step)));
  }
}

}  // namespace

std::vector<std::string> why_not_comparable(const Record& reference, const Record& candidate,
                                            ComparisonMode comparison_mode) {
  const Manifest &one = reference.manifest, &other = candidate.manifest;
  Differences differences;
  compare_trainings(one, one.dtype, other, differences);
  if (comparison_mode == ComparisonMode::bits) {
    differences.demand_equal("device", device_kind(one), device_kind(other));
    // Kernels, and so bits, may differ between GPU models. Missing information is not counted as a difference.
    const auto models = gpu_models(one), others = gpu_models(other);
    const bool other_models = models && others && *models != *others;
    if (other_models) differences.demand_equal("GPU models", *models, *others);
    if (device_kind(one) != device_kind(other) || other_models) {
      differences.words.push_back(
          "different devices give different bits: `plumbline calibrate` measures limits for such a comparison, and "
          "`plumbline compare --calibration` uses them");
    }
  }
  compare_starts(reference, candidate, comparison_mode, differences);
  refuse_measuring_runs(one, "the reference", differences);
  refuse_measuring_runs(other, "the candidate", differences);
  const auto same = why_the_same_run(reference, candidate);
  differences.words.insert(differences.words.end(), same.begin(), same.end());
  return differences.words;
}

std::vector<std::string> why_not_calibrated(const Manifest& shadow, const Manifest& reference) {
  Differences differences("the calibration", "the reference");
  const Json shadow_of = value_or(shadow.json, "shadow_of", "");
  compare_trainings(shadow, shadow_of.is_string() ? shadow_of.get<std::string>() : "", reference, differences);
  return differences.words;
}

std::vector<std::string> why_other_rates(const Record& shadow, const Record& reference) {
  Differences differences("the calibration", "the reference");
  for (const StepRow& truth : shadow.ranks.at(0).steps) {
    for (const StepRow& row : reference.ranks.at(0).steps) {
      if (row.step != truth.step) continue;
      differences.demand_equal("learning rate of step " + to_text(row.step), to_text(truth.learning_rate.value_or(NAN)),
                               to_text(row.learning_rate.value_or(NAN)));
    }
  }
  return differences.words;
}

std::vector<std::string> keys_not_judged(const Manifest& reference, const Manifest& candidate) {
  std::vector<std::string> alone;
  if (reference.traits.llama && candidate.traits.llama) {
    Differences ignored;
    compare_other_keys(reference.json.at("model"), candidate.json.at("model"), ignored, alone);
  }
  const Json &one = reference.json.at("optimizer"), &other = candidate.json.at("optimizer");
  for (const std::string& key : other_optimizer_keys(one, other)) {
    if (value_or(one, key, nullptr).is_null() != value_or(other, key, nullptr).is_null())
      alone.push_back("optimizer." + key);
  }
  return alone;
}

std::optional<std::string> why_other_torch(const Manifest& reference, const Manifest& candidate) {
  const std::string one = torch_of(reference), other = torch_of(candidate);
  if (one.empty() || other.empty() || one == other) return std::nullopt;
  const std::string onednn = reference.version_of("onednn"), other_onednn = candidate.version_of("onednn");
  std::string words = fmt::format("torch {} against {}", one, other);
  if (!onednn.empty() && !other_onednn.empty()) words += fmt::format(" (oneDNN {}, {})", onednn, other_onednn);
  return words;
}

std::optional<std::string> why_other_kernels(const Manifest& reference, const Manifest& candidate) {
  if (device_kind(reference) != device_kind(candidate))
    return fmt::format("device {} against {}", reference.device, candidate.device);
  if (const auto torch = why_other_torch(reference, candidate)) return torch;
  const std::vector<std::pair<std::string, std::vector<std::string>>> deciding = {
      {"machine", {"cpu_vendor", "cpu_family", "cpu_model_number", "aten_capability", "bf16_instructions", "gpus"}},
      {"environment", {"ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS", "MKL_CBWR"}}};
  for (const auto& [table, keys] : deciding) {
    const Json one = value_or(reference.json, table, nullptr), other = value_or(candidate.json, table, nullptr);
    if (!one.is_object() || !other.is_object() || one.empty() || other.empty()) continue;  // unknown for one of them
    for (const auto& key : keys) {
      const Json mine = value_or(one, key, nullptr), theirs = value_or(other, key, nullptr);
      if (mine != theirs) return fmt::format("{} {} against {}", key, json_text(mine), json_text(theirs));
    }
  }
  return std::nullopt;
}

bool several_gpu_models(const Manifest& manifest) {
  const Json machine = value_or(manifest.json, "machine", nullptr);
  const Json models = machine.is_object() ? value_or(machine, "gpus", nullptr) : Json(nullptr);
  return models.is_array() && models.size() > 1;
}

std::vector<std::string> why_the_same_run(const Record& one, const Record& other) {
  std::vector<std::string> words;
  if (one.manifest.run_id == other.manifest.run_id) {
    words.push_back(fmt::format("both records are of one run (run id {}): a run is never compared with itself",
                                one.manifest.run_id));
  }
  for (const auto& rank : one.ranks) {
    const std::string folder = rank_folder(rank.rank);
    const auto actions = one.path / folder / "actions.csv";
    const auto same = [&](const char* file) {
      return same_bytes(one.path / folder / file, other.path / folder / file);
    };
    if (std::filesystem::exists(actions) && has_rows(actions) && same("steps.csv") && same("actions.csv")) {
      words.push_back(folder +
                      "/steps.csv and actions.csv are byte-equal in both records, times included: one is a copy");
    }
  }
  return words;
}

}  // namespace plumbline::judging
