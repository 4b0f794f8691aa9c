// SPDX-License-Identifier: BSD-3-Clause
// A run record as read from disk. Reading is strict: a missing file, column or line break is an InputError with file
// and line.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "record/mesh.hpp"
#include "record/rows.hpp"
#include "record/writer.hpp"
#include "support/json.hpp"

namespace plumbline {

struct StageEntry {
  std::int64_t stage = 0;
  std::int64_t rank = 0;
  std::vector<std::string> units;
};
inline void to_json(Json& json, const StageEntry& entry) {
  json = {{"stage", entry.stage}, {"rank", entry.rank}, {"units", entry.units}};
}

/// Linear from `start_factor` x the rate over `warmup_steps`, then a curve to `final_factor` x the rate at
/// `total_steps`.
struct LearningRateSchedule {
  std::int64_t warmup_steps = 0;
  double start_factor = 1;
  double final_factor = 0;
  std::int64_t total_steps = 0;
  std::string curve = "cosine";  ///< cosine | linear | constant | wsd
  std::int64_t decay_steps = 0;  ///< of wsd
};

/// The run that a resumed run continues, and after how many of its steps.
struct ResumedFrom {
  std::string run_id;
  std::int64_t step = 0;
  /// Settings changed since the training began, each `step` (from which on), `key`, `from` and `to`.
  Json changes = Json::array();
};

/// The record whose norms a run clipped by in place of its own.
struct NormsFrom {
  std::string run_id;
  std::int64_t rank = 0;  ///< whose norms.csv was replayed
  std::string digest;     ///< XXH3-128 of that file's bytes
};

/// When the evaluation loss is computed, and on how much validation data.
struct EvaluationPlan {
  std::int64_t every = 0;  ///< interval in steps; 0: only after the last step
  std::int64_t microbatches = 0;
};

/// What the values of a record mean, and which it may lack. Set when the manifest is read, from who wrote it. The judge
/// asks these, never who wrote the record.
struct Conventions {
  bool exact_formulas = true;     ///< statistics, norms and rates are computed as docs/exactness.md defines
  bool exact_bytes = true;        ///< memory.csv counts what the trainer allocates, as docs/record-format.md says
  bool generated_lists = true;    ///< a schedule's name stands for the list that schedule/ generates
  bool config_of_a_llama = true;  ///< the keys of `model` have names and defaults of a Llama's config.json
  bool python_recorder = false;   ///< findings name the arguments of plumbline.Record that help
  /// Kinds of values that may be missing though nobody states why: norm, copies, gradients and moments of parameters
  /// that no step changes, memory.
  std::set<std::string> optional = {};
};

struct Manifest {
  Json json;  ///< as read, including unknown keys
  std::string run_id, role, dtype, device;
  Conventions conventions;            ///< of the role; set_role() keeps the two together
  std::string transport;              ///< empty: unknown
  std::string recompute = "none";     ///< none | layer | attention | mlp: recomputed in the backward pass
  std::string action_times = "host";  ///< host | gpu: start and end of a computation on the GPU
  std::int64_t seed = 0, world_size = 0, steps = 0;
  std::int64_t first_step = 0;              ///< first step of its tables; above 0 only in resumed runs
  std::optional<ResumedFrom> resumed_from;  ///< set if first_step is above 0
  /// Schema 1: from the manifest. Schema 2: read_record takes it from the ranks' exit.json; empty before that, and if
  /// no rank states it.
  std::string data_digest;
  std::int64_t microbatches = 0;
  std::string schedule_name, schedule_digest, accumulation, accumulation_digest;
  std::int64_t chunks_per_rank = 1;
  std::vector<StageEntry> stages;
  std::vector<std::vector<std::string>> tied;
  std::vector<std::string> frozen;
  std::string loss_scaling = "before";
  double boundary_gradient_factor = 1;
  std::optional<double> clip_norm;
  std::string norm_order = "canonical";  ///< canonical | per_rank: squares are summed on each rank, then over ranks
  double clip_epsilon = 0;               ///< clip coefficient = limit / (norm + clip_epsilon)
  std::optional<NormsFrom> norms_from;   ///< set if another record's norms were replayed
  std::optional<LearningRateSchedule> learning_rate_schedule;  ///< optional in external records
  std::optional<EvaluationPlan> evaluation;                    ///< nullopt: the run evaluates nothing
  std::optional<Mesh> mesh;  ///< set if the record describes one pipeline of several; world_size is that pipeline's
  std::int64_t every = 1;    ///< record step i is step i * every of the run
  /// What the recorder of an external record could not see; read_record adds the entries of the ranks' exit.json.
  std::vector<NotRecorded> not_recorded;
  RecordLevel level = RecordLevel::full;

  void set_role(const std::string& of);
  /// True if the recorder of another trainer wrote it: what our trainers always write may be missing. Only for readers.
  bool external() const { return role == "external"; }
  /// True if it describes one of several replicas of our pipeline: its microbatches are a part of the step's, and its
  /// values of a step (loss, tokens) are of the whole step.
  bool part_of_step() const { return role == "pipeline" && mesh && mesh->replicas.size() > 1; }
  /// Microbatches of the whole step.
  std::int64_t microbatches_of_step() const {
    return part_of_step() ? microbatches * static_cast<std::int64_t>(mesh->replicas.size()) : microbatches;
  }
  /// True if an evaluation follows this step; the last step always has one.
  bool evaluates_after(std::int64_t step) const;
  /// An entry of `versions`: "torch", "libtorch", "onednn", ...; empty if the manifest has none, or no plain version.
  std::string version_of(const std::string& library) const;
};
/// Units in the model's order; empty if the stages list none.
std::string first_unit(const Manifest& manifest);

Manifest read_manifest(const std::filesystem::path& record);

struct RankRecord;

/// Number of rows that precede the current ones in each of a rank's tables: converts a row's index to its line.
struct RowsBefore {
  std::size_t steps = 0, microbatches = 0, tensors = 0, boundaries = 0, evaluation = 0;

  /// Adds the current rows: they precede the next ones.
  void add(const RankRecord& in_hand);
};

/// One rank's tables. A table that level or role do not require and that does not exist stays empty and is named in
/// `absent`.
struct RankRecord {
  std::int64_t rank = 0;
  std::vector<StepRow> steps;
  std::vector<NormRow> norms;  ///< only of external records
  std::vector<MicrobatchRow> microbatches;
  std::vector<TensorRow> tensors;
  std::vector<BoundaryRow> boundaries;
  std::vector<ActionRow> actions;
  std::vector<MemoryRow> memory;
  std::vector<SavedRow> saved;
  std::vector<TrafficRow> traffic;
  std::vector<GpuMemoryRow> gpu_memory;   ///< only of runs on GPUs
  std::vector<EvaluationRow> evaluation;  ///< only on the rank that owns the loss, in runs that evaluate
  std::optional<ExitFile> exit;
  Json machine = Json::object();     ///< machine.json (record/machine_differences.hpp); empty if there is none
  RowsBefore left_out;               ///< number of rows of skipped steps
  std::vector<std::string> absent;   ///< file names, "saved.csv"
  std::vector<std::string> cut_off;  ///< files of an incomplete rank whose last, incomplete line was dropped
};

/// Whether an optimizer of any of the ranks stepped in their current step; nullopt if none says so.
inline std::optional<bool> any_updated(const std::vector<RankRecord>& ranks) {
  std::optional<bool> any;
  for (const RankRecord& rank : ranks)
    for (const StepRow& row : rank.steps)
      if (row.updated) any = any.value_or(false) || *row.updated;
  return any;
}

struct Record {
  std::filesystem::path path;
  Manifest manifest;
  std::vector<RankRecord> ranks;
  std::optional<std::string> schedule_csv;  ///< the file's bytes
  std::int64_t first_step = 0;              ///< first step read: manifest.first_step or a later one
  /// Added to the microbatches of its rows: of a part of a step, its first one in the whole.
  std::int64_t first_microbatch = 0;

  /// Number of steps from first_step on.
  std::int64_t steps() const { return manifest.steps - first_step; }
  /// True if earlier steps were skipped.
  bool in_part() const { return first_step > manifest.first_step; }
};

/// Reads all tables of the level. A rank that did not end well (no exit.json, or its status is not ok) is read up to
/// its last complete row: `completion` judges it. Throws InputError with file and line for any other deviation from
/// docs/record-format.md; RecordError if file, rank and step are known.
Record read_record(const std::filesystem::path& path);

}  // namespace plumbline
