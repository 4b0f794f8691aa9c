// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/comparability.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "record/manifest.hpp"
#include "record/rank_folder.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"

namespace plumbline::judging {
namespace {

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

/// The kind of the tensors' digests.
std::string digest_of(const Manifest& manifest) {
  const Json digest = value_or(manifest.json, "digest", nullptr);
  return digest.is_string() ? digest.get<std::string>() : "xxh3-128";
}

std::vector<std::string> sorted(std::vector<std::string> names) {
  std::ranges::sort(names);
  return names;
}

/// Compares model, data and hyperparameters. `dtype`: the dtype to assume for the first.
void compare_trainings(const Manifest& one, const std::string& dtype, const Manifest& other, Differences& differences) {
  try {
    const Json &config = one.json.at("model"), &theirs = other.json.at("model");
    one.conventions.config_of_a_llama&& other.conventions.config_of_a_llama
        ? compare_models(config, theirs, differences)
        : compare_configs(config, theirs, differences);
  } catch (const InputError& error) {
    differences.words.push_back(error.what());
  }
  differences.demand_equal("microbatches a step", one.microbatches_of_step(), other.microbatches_of_step());
  differences.demand_equal("seed", one.seed, other.seed);
  differences.demand_equal("dtype", dtype, other.dtype);
  differences.demand_equal("steps", to_text(one.steps), to_text(other.steps));
  differences.demand_equal("every", to_text(one.every), to_text(other.every));
  if (digest_of(one) != digest_of(other)) {
    differences.words.push_back(
        fmt::format("the reference's tensors have {} digests, the candidate's {}: record one of the runs again with "
                    "the other's Record(digest=)",
                    digest_of(one), digest_of(other)));
  }
  for (const std::string& words : why_other_places(one.mesh, other.mesh)) differences.words.push_back(words);
  const Json threads = value_or(one.json, "threads", nullptr), others = value_or(other.json, "threads", nullptr);
  if (!threads.is_null() && !others.is_null()) differences.demand_equal("threads of a rank", threads, others);
  // Recomputation does not change bits, only the kept activations: it matters if both records are compared with the
  // activation memory model.
  if (one.conventions.exact_bytes && other.conventions.exact_bytes)
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
        "only one manifest lists the tied weights; list them in both (`tied`, Record(tied=[[...]])): a rank sees only "
        "its own copies");
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
        fmt::format("{} is a perturbed run (--perturb {}), which cannot be compared", whose, json_text(perturbation)));
  }
  if (!shadow_of.is_null()) {
    differences.words.push_back(fmt::format("{} is the float64 reference of a run in {}, which cannot be compared",
                                            whose, json_text(shadow_of)));
  }
}

/// A reference may begin earlier: it is read from the candidate's first step.
void compare_starts(const Record& reference, const Record& candidate, ComparisonMode comparison_mode,
                    Differences& differences) {
  if (reference.first_step != candidate.first_step) {
    differences.words.push_back(
        fmt::format("the reference begins at step {}, the candidate at step {}: its earlier steps have no counterpart; "
                    "use the record that begins earlier as the reference",
                    to_text(reference.first_step), to_text(candidate.first_step)));
  }
  if (comparison_mode == ComparisonMode::calibrated && candidate.first_step > 0) {
    differences.words.push_back(
        fmt::format("the candidate resumes a run at step {}, but limits are measured on whole runs: compare this "
                    "record without --calibration",
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
  return optimizer_keys_not_judged(reference.json.at("optimizer"), candidate.json.at("optimizer"));
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
    words.push_back(
        fmt::format("both records are of the same run (run id {}): give two different runs", one.manifest.run_id));
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
