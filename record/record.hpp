// SPDX-License-Identifier: BSD-3-Clause
// A run record as read back from disk. Reading is strict: a missing file, column or line break is an InputError with
// file and line.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/mesh.hpp"
#include "record/rows.hpp"
#include "record/rows_before.hpp"
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

/// Linear from `start_factor` x the rate over `warmup_steps`, then cosine to `final_factor` x the rate at
/// `total_steps`.
struct LearningRateSchedule {
  std::int64_t warmup_steps = 0;
  double start_factor = 1;
  double final_factor = 0;
  std::int64_t total_steps = 0;
};

/// Which run a record goes on with, and after how many steps of it.
struct ResumedFrom {
  std::string run_id;
  std::int64_t step = 0;
};

/// When and on how much data that is not trained on the loss is computed.
struct EvaluationPlan {
  std::int64_t every = 0;  ///< steps from one to the next; 0: after the last step alone
  std::int64_t microbatches = 0;
};

struct Manifest {
  Json json;                ///< as read, unknown keys kept
  std::int64_t schema = 2;  ///< of plumbline-record/<schema>
  std::string run_id, role, dtype, device;
  std::string transport;              ///< empty: not said
  std::string recompute = "none";     ///< or layer: computed again in the backward pass
  std::string action_times = "host";  ///< or gpu: of what computes, when the GPU began and ended it
  std::int64_t seed = 0, world_size = 0, steps = 0;
  std::int64_t first_step = 0;              ///< its tables begin there; above 0 only of a run that was gone on with
  std::optional<ResumedFrom> resumed_from;  ///< there where first_step is above 0
  /// Schema 1: as the manifest has it. Schema 2: read_record takes it from the ranks' exit.json; empty before that, and
  /// where no rank tells.
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
  std::string norm_order = "canonical";  ///< or per_rank: squares summed on each rank, then over ranks
  double clip_epsilon = 0;               ///< added to the norm before the limit is divided by it
  std::optional<LearningRateSchedule> learning_rate_schedule;  ///< an external record may lack it, and one of schema 1
  std::optional<EvaluationPlan> evaluation;                    ///< none: the run evaluates nothing
  std::optional<Mesh> mesh;  ///< the record is of one pipeline of several; world_size is that one's
  std::int64_t every = 1;    ///< step i of the record is step i x every of the run
  /// What the recorder of an external record could not see; read_record adds what the ranks' exit.json say.
  std::vector<NotRecorded> not_recorded;
  RecordLevel level = RecordLevel::full;

  /// Whether there is an evaluation after this step; after the last there always is one.
  bool evaluates_after(std::int64_t step) const;
  /// Whether the recorder could see all of `kinds`: sends, receives, ... (record/not_recorded.hpp).
  bool recorded(const std::vector<std::string>& kinds) const { return !lists_any(not_recorded, kinds); }
  /// Of `versions`: "torch", "libtorch", "onednn", ...; empty where the manifest gives none, or no plain version.
  std::string version_of(const std::string& library) const;
};
/// Along the model; empty where the stages list none.
std::string first_unit(const Manifest& manifest);

Manifest read_manifest(const std::filesystem::path& record);

/// One rank's tables; a table that the level or the role does not ask for and that is absent stays empty and is named
/// in `absent`.
struct RankRecord {
  std::int64_t rank = 0;
  std::vector<StepRow> steps;
  std::vector<MicrobatchRow> microbatches;
  std::vector<TensorRow> tensors;
  std::vector<BoundaryRow> boundaries;
  std::vector<ActionRow> actions;
  std::vector<MemoryRow> memory;
  std::vector<SavedRow> saved;
  std::vector<TrafficRow> traffic;
  std::vector<GpuMemoryRow> gpu_memory;   ///< of runs on GPUs
  std::vector<EvaluationRow> evaluation;  ///< of the rank that owns the loss, in runs that evaluate
  std::optional<ExitFile> exit;
  RowsBefore left_out;               ///< rows of steps before those that are read
  std::vector<std::string> absent;   ///< file names, "saved.csv"
  std::vector<std::string> cut_off;  ///< of an incomplete rank: files whose last, half-written line was left out
};

struct Record {
  std::filesystem::path path;
  Manifest manifest;
  std::vector<RankRecord> ranks;
  std::optional<std::string> schedule_csv;  ///< the file's bytes
  std::int64_t first_step = 0;              ///< that it is read from: manifest.first_step, or a later one

  /// Steps that it is read for.
  std::int64_t steps() const { return manifest.steps - first_step; }
  /// Whether earlier steps of it were left out.
  bool in_part() const { return first_step > manifest.first_step; }
};

/// Reads everything that the level promises. A rank that did not end well (no exit.json, or its status is not ok) is
/// read as far as it came: `completion` judges it. Throws InputError with file and line for all else that is not as
/// docs/record-format.md says: RecordError where it can name file, rank and step.
Record read_record(const std::filesystem::path& path);

}  // namespace plumbline
