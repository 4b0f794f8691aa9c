// SPDX-License-Identifier: BSD-3-Clause
// run.toml: what to train, on what, how. Read once, by both trainers, with every mistake named.
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
  std::vector<std::filesystem::path> tokens;  ///< files of ids, or patterns of their names
  std::optional<std::string> token_type;      ///< uint16 | uint32, of files that do not say it
  std::uint64_t seed = 1;
  std::string shuffle = "none";  ///< none | windows
  /// Row lengths of each microbatch, `batch` numbers each; already repeated up to `microbatches`.
  std::vector<std::vector<std::int64_t>> row_lengths;
  std::vector<std::int64_t> masked;  ///< microbatches without a valid label
};

struct OptimizerSettings {
  std::string name = "adamw";  ///< adamw | sgd
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  std::string decay = "all";  ///< all | matrices: which parameters it acts on
  double momentum = 0.0;

  /// What acts on a parameter of this many dimensions: norms and biases are no matrices.
  double decay_of(std::int64_t dimensions) const;

  /// Another optimiser than the run file names (a sweep's), with what the file says of it. Throws InputError naming the
  /// known ones.
  void use(const std::string& optimizer);
};

struct TrainSettings {
  std::int64_t steps = 0;
  std::uint64_t seed = 1;
  std::string dtype = "float32";  ///< the precision: float32 | float64 | bfloat16 | mixed; whatever config.json says
  OptimizerSettings optimizer;
  std::int64_t warmup_steps = 0;
  double start_factor = 1.0;
  Recompute recompute = Recompute::none;
  double final_factor = 0.0;  ///< where the cosine ends, as a share of the rate
  std::int64_t threads = 1;   ///< that compute, of each rank
  std::optional<double> clip_norm;
  /// No key of the file: whether training ends where the gradients are not finite. A record is to show such steps.
  bool ends_where_not_finite = false;
};

struct PipelineSettings {
  std::string schedule = "1f1b";                ///< a name, or a CSV file's path
  std::optional<std::string> schedule_dialect;  ///< of the file, where its cells do not tell
  std::int32_t chunks = 0;                      ///< stages a rank; 0: as many as the schedule is made for
  std::string partition = "uniform";            ///< uniform | cost | balance
  std::vector<std::int64_t> balance;            ///< layers per stage when partition is "balance"
  std::string transport = "mpi";
  std::int64_t timeout_ms = 600000;        ///< longest wait for another rank within a step
  std::int64_t start_timeout_ms = 600000;  ///< the same before the first step: while ranks load and connect
};

struct EvaluateSettings {
  std::int64_t every = 0;  ///< steps; 0: after the last alone
};

struct CheckpointSettings {
  bool asked = false;                           ///< the run file has the table
  std::optional<std::filesystem::path> folder;  ///< none: nothing is saved
  std::int64_t every = 0;                       ///< steps; 0: at the end alone
  std::int64_t keep = 3;
};

struct RunFile {
  std::filesystem::path path;
  std::filesystem::path config;                  ///< config.json
  std::optional<std::filesystem::path> weights;  ///< model.safetensors
  DataSettings data;
  std::optional<DataSettings> validation;  ///< what is evaluated: none, nothing is
  TrainSettings train;
  PipelineSettings pipeline;
  EvaluateSettings evaluate;
  CheckpointSettings checkpoint;
  RecordLevel record_level = RecordLevel::full;
  std::string device = "cpu";  ///< cpu | cuda; no key of the file, but --device
  std::int64_t microbatches() const { return static_cast<std::int64_t>(data.row_lengths.size()); }
};

/// Reads and validates; relative paths are taken from the run file's folder. `text`: this UTF-8 file, or folder, in
/// place of what the run file names. Throws InputError naming file, line and key; also when one step needs more tokens
/// than there are, before anything as long as that step is made.
RunFile load_run_file(const std::filesystem::path& path, const std::optional<std::filesystem::path>& text = {});

}  // namespace plumbline
