// SPDX-License-Identifier: BSD-3-Clause
// run.toml: model, data and training settings. Both trainers read it with this code; every error names its place.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/recompute.hpp"
#include "record/writer.hpp"

namespace plumbline {

struct DataSettings {
  std::optional<std::filesystem::path> text;  ///< a UTF-8 file, or a folder of .txt files in name order
  std::vector<std::filesystem::path> tokens;  ///< files of ids, or patterns of file names
  std::optional<std::string> token_type;      ///< uint16 | uint32, for files that do not specify it
  std::uint64_t seed = 1;
  std::string shuffle = "none";  ///< none | windows
  /// Row lengths of each microbatch, `batch` numbers each; already repeated for `microbatches`.
  std::vector<std::vector<std::int64_t>> row_lengths;
  std::vector<std::int64_t> masked;  ///< microbatches without a valid label
  /// Files with a byte for each token, or patterns of their names; other than 0: the token is not a label.
  std::vector<std::filesystem::path> ignore;
};

struct OptimizerSettings {
  std::string name = "adamw";  ///< adamw | sgd
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  std::string decay = "all";  ///< all | matrices: parameters to which weight decay applies
  double momentum = 0.0;

  /// The weight decay of a parameter with this many dimensions: norms and biases are not matrices.
  double decay_of(std::int64_t dimensions) const;

  /// Another optimizer than the run file's (for a sweep), with the file's settings for it. Throws InputError naming the
  /// known ones.
  void use(const std::string& optimizer);
};

struct TrainSettings {
  std::int64_t steps = 0;
  std::uint64_t seed = 1;
  std::string dtype =
      "float32";  ///< the precision: float32 | float64 | bfloat16 | mixed; config.json does not affect it
  OptimizerSettings optimizer;
  std::int64_t warmup_steps = 0;
  double start_factor = 1.0;
  Recompute recompute = Recompute::none;
  std::optional<double> peak_tflops{};  ///< of one device, for metrics.csv; null: unknown
  std::string curve = "cosine";         ///< after the warm-up: cosine | linear | constant | wsd
  std::int64_t decay_steps = 0;         ///< of wsd: the last steps, in which the rate falls
  double final_factor = 0.0;            ///< at the end of the curve, as a fraction of the rate
  std::int64_t threads = 1;             ///< compute threads per rank
  std::optional<double> clip_norm;
};

struct PipelineSettings {
  std::string schedule = "1f1b";      ///< a name, or a CSV file's path
  std::int32_t chunks = 0;            ///< stages per rank; 0: the schedule's default
  std::string partition = "uniform";  ///< uniform | cost | balance
  std::vector<std::int64_t> balance;  ///< layers per stage when partition is "balance"
  std::string transport = "mpi";
  std::int32_t max_ctas = 4;               ///< of one NCCL communicator; 0: NCCL's default
  std::int32_t replicas = 1;               ///< copies of the pipeline, each with a part of the microbatches
  std::int64_t timeout_ms = 600000;        ///< maximum wait for another rank within a step
  std::int64_t start_timeout_ms = 600000;  ///< the same before the first step, while ranks load and connect
};

struct EvaluateSettings {
  std::int64_t every = 0;  ///< steps; 0: only after the last
};

struct CheckpointSettings {
  std::optional<std::filesystem::path> folder;  ///< null: nothing is saved
  std::int64_t every = 0;                       ///< steps; 0: only at the end
  std::int64_t keep = 3;
  bool background = false;             ///< a thread writes a copy of the state while the training goes on
  std::int64_t timeout_ms = 86400000;  ///< maximum time of a rank's writing, after which the save has failed
};

/// The keys of run_keys.hpp, with those that --set and --text replace.
struct RunFile {
  std::filesystem::path path;                    ///< of the file itself
  std::filesystem::path config;                  ///< config.json
  std::optional<std::filesystem::path> weights;  ///< model.safetensors
  DataSettings data;
  std::optional<DataSettings> validation;  ///< null: no evaluation
  TrainSettings train;
  PipelineSettings pipeline;
  EvaluateSettings evaluate;
  std::optional<CheckpointSettings> checkpoint;  ///< null: the file has no such table
  RecordLevel record_level = RecordLevel::full;

  CheckpointSettings& checkpoint_table() { return checkpoint ? *checkpoint : checkpoint.emplace(); }
  std::int64_t microbatches() const { return static_cast<std::int64_t>(data.row_lengths.size()); }
};

/// Reads and validates; relative paths are relative to the run file's folder. `text`: this UTF-8 file or folder
/// replaces the run file's data. `assignments`: see TomlTable::read. Throws InputError naming file, line and key; also
/// if one step needs more tokens than there are, before allocating anything of that length.
RunFile load_run_file(const std::filesystem::path& path, const std::optional<std::filesystem::path>& text = {},
                      const std::vector<std::string>& assignments = {});

}  // namespace plumbline
