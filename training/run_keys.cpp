// SPDX-License-Identifier: BSD-3-Clause
#include "training/run_keys.hpp"

#include <limits>
#include <map>

#include "record/precision.hpp"

namespace plumbline {

namespace {

using Keys = std::vector<KeyOf<RunFile>>;

/// Deadlines are added to a 64-bit clock of nanoseconds.
constexpr double longest_timeout_ms = 7 * 24 * 3600 * 1000;
constexpr const char* a_week = " (7 days)";
constexpr double largest_int32 = std::numeric_limits<std::int32_t>::max();

/// A row with the field that it sets.
#define PLUMBLINE_KEY(field, ...) \
  key_of<RunFile>(                \
      [](RunFile & run) -> auto& { return run.field; }, TomlKey{__VA_ARGS__})

Keys model_keys() {
  return {PLUMBLINE_KEY(config, .name = "config",
                        .meaning = "the model's `config.json`: which models, see getting-started.md#your-own-model",
                        .required = true, .example = "\"models/stories260k/config.json\""),
          PLUMBLINE_KEY(weights, .name = "weights",
                        .meaning = "initial weights: a `model.safetensors`, or a folder with it or with several and "
                                   "their index",
                        .otherwise = "drawn from `train.seed`")};
}

Keys data_keys() {
  return {{{.name = "text",
            .meaning = "a UTF-8 file, or a folder of `.txt` files; one id a byte",
            .otherwise = "`tokens`"}},
          {{.name = "tokens",
            .type = TomlType::text_or_texts,
            .meaning = "files or patterns of ids (data.md#files-of-ids), raw, numpy's, llm.c's or Megatron's",
            .otherwise = "`text`"}},
          {{.name = "validation",
            .type = TomlType::text_or_texts,
            .meaning = "data for evaluation only, of the kind of the training data",
            .otherwise = "no evaluation"}},
          {{.name = "ignore",
            .type = TomlType::text_or_texts,
            .meaning = "files or patterns with the tokens that are not labels, as in fine-tuning: "
                       "data.md#tokens-that-are-not-labels",
            .otherwise = "none"}},
          {{.name = "validation_ignore",
            .type = TomlType::text_or_texts,
            .meaning = "the same for `validation`",
            .otherwise = "none"}},
          PLUMBLINE_KEY(data.token_type, .name = "token_type",
                        .meaning = "type of raw files: `uint16` (default up to 65,536 ids) or `uint32`",
                        .otherwise = "from the file", .words = {"uint16", "uint32"}),
          PLUMBLINE_KEY(data.seed, .name = "seed", .meaning = "for the first token, or the order of the windows",
                        .least = 0),
          PLUMBLINE_KEY(data.shuffle, .name = "shuffle",
                        .meaning =
                            "`none`: rows are consecutive; `windows`: shuffled windows, each used once an epoch, see "
                            "data.md#windows-in-another-order",
                        .words = {"none", "windows"}),
          {{.name = "lengths",
            .type = TomlType::integer_rows,
            .meaning = "for each microbatch the tokens of each row, or a list with one number a row",
            .required = true,
            .example = "[96, 33, 64]",
            .least = 1}},
          {{.name = "batch", .type = TomlType::integer, .meaning = "rows of a microbatch", .fallback = 1, .least = 1}},
          {{.name = "microbatches",
            .type = TomlType::integer,
            .meaning = "if larger than the number of `lengths`, the lengths repeat",
            .otherwise = "number of `lengths`",
            .least = 1,
            .most = largest_int32}},
          PLUMBLINE_KEY(data.masked, .name = "masked", .meaning = "microbatches without valid labels; not all of them",
                        .otherwise = "none", .least = 0, .distinct = true, .may_be_empty = true)};
}

const std::vector<std::string> precisions{"float32", "float64", "bfloat16", mixed_precision};

Keys train_keys() {
  return {
      PLUMBLINE_KEY(train.steps, .name = "steps", .meaning = "optimizer steps", .required = true, .example = "5",
                    .least = 1, .most = largest_int32),
      PLUMBLINE_KEY(train.seed, .name = "seed", .meaning = "for the initial parameters", .least = 0),
      PLUMBLINE_KEY(train.dtype, .name = "precision",
                    .meaning = "of the computation; `mixed`: exactness.md#mixed-precision", .words = precisions),
      PLUMBLINE_KEY(train.dtype, .name = "dtype", .meaning = "older name of `precision`; not both",
                    .otherwise = "`precision`", .words = precisions),
      PLUMBLINE_KEY(train.optimizer.name, .name = "optimizer", .meaning = "the optimizer", .words = known_optimizers()),
      PLUMBLINE_KEY(train.optimizer.learning_rate, .name = "learning_rate", .meaning = "the peak rate", .least = 0,
                    .above = true),
      PLUMBLINE_KEY(train.warmup_steps, .name = "warmup_steps",
                    .meaning = "steps of linear warm-up, at most `steps`, then `curve` (formula 7 of "
                               "exactness.md#what-both-trainers-do)",
                    .least = 0),
      PLUMBLINE_KEY(train.start_factor, .name = "start_factor",
                    .meaning = "fraction of the peak at step 0 of the warm-up", .least = 0, .most = 1, .above = true),
      PLUMBLINE_KEY(train.curve, .name = "curve",
                    .meaning =
                        "`cosine` or `linear`: falls until the last step; `constant`; `wsd` (warm-up, stable, "
                        "decay): constant, then linear in the last `decay_steps`. With `constant`, and with `wsd` "
                        "before its decay, you may raise `steps` on resume without changing earlier rates",
                    .words = {"cosine", "linear", "constant", "wsd"}),
      {{.name = "decay_steps",
        .type = TomlType::integer,
        .meaning = "with `wsd`: steps of the decay, at most `steps` - `warmup_steps`",
        .otherwise = "none",
        .least = 1}},
      PLUMBLINE_KEY(train.final_factor, .name = "final_factor",
                    .meaning = "fraction of the peak at the end of the curve", .least = 0, .most = 1),
      PLUMBLINE_KEY(
          train.peak_tflops, .name = "peak_tflops",
          .meaning = "peak of one device at this precision, in TFLOP/s, for `flops_utilization` in `metrics.csv`",
          .otherwise = "unknown", .least = 0, .above = true),
      PLUMBLINE_KEY(train.optimizer.weight_decay, .name = "weight_decay",
                    .meaning = "decoupled for AdamW, added to the gradient for SGD", .least = 0),
      PLUMBLINE_KEY(train.optimizer.decay, .name = "decay",
                    .meaning = "what decays: `all` parameters, or `matrices`, without norms and biases",
                    .words = {"all", "matrices"}),
      PLUMBLINE_KEY(train.optimizer.beta1, .name = "beta1", .meaning = "AdamW only", .least = 0, .most = 1,
                    .below = true),
      PLUMBLINE_KEY(train.optimizer.beta2, .name = "beta2", .meaning = "AdamW only", .least = 0, .most = 1,
                    .below = true),
      PLUMBLINE_KEY(train.optimizer.eps, .name = "eps", .meaning = "AdamW only", .least = 0, .above = true),
      PLUMBLINE_KEY(train.optimizer.momentum, .name = "momentum", .meaning = "SGD only", .least = 0, .most = 1,
                    .below = true),
      PLUMBLINE_KEY(train.clip_norm, .name = "clip_norm", .meaning = "limit of the global gradient norm",
                    .otherwise = "no clipping", .least = 0, .above = true),
      {{.name = "recompute",
        .meaning = "recomputed in the backward pass (exactness.md#activation-recomputation): each decoder `layer`, or "
                   "only its `attention` or `mlp`. Same bits, less memory; `layer` costs a third more work",
        .fallback = "none",
        .words = {"none", "layer", "attention", "mlp"}}},
      PLUMBLINE_KEY(train.threads, .name = "threads",
                    .meaning = "compute threads of each rank; all ranks together should not exceed the cores",
                    .least = 1, .most = 1024)};
}

Keys pipeline_keys() {
  return {PLUMBLINE_KEY(pipeline.schedule, .name = "schedule",
                        .meaning = "a schedule's name (schedules.md), or the path of a CSV file (`.csv`)"),
          PLUMBLINE_KEY(pipeline.chunks, .name = "chunks", .meaning = "stages on each rank",
                        .otherwise = "the schedule's", .least = 1, .most = largest_int32),
          PLUMBLINE_KEY(pipeline.partition, .name = "partition",
                        .meaning = "`uniform`: layers spread evenly; `cost`: minimizes the largest stage's FLOPs",
                        .words = {"uniform", "cost"}),
          PLUMBLINE_KEY(pipeline.balance, .name = "balance",
                        .meaning = "layers of each stage, zeros allowed; instead of `partition`", .otherwise = "none",
                        .least = 0),
          PLUMBLINE_KEY(pipeline.transport, .name = "transport", .meaning = "`threads`: of one process",
                        .words = {"mpi", "threads", "nccl"}),
          PLUMBLINE_KEY(
              pipeline.max_ctas, .name = "max_ctas",
              .meaning = "with `nccl`: how many multiprocessors a message may occupy, also while it waits (`maxCTAs`; "
                         "up to four wait at once). 0: NCCL's default",
              .least = 0, .most = 64, .why_most = ", the most channels that NCCL has"),
          PLUMBLINE_KEY(
              pipeline.replicas, .name = "replicas",
              .meaning = "copies of the pipeline, which add their gradients (exactness.md#replicas); must divide the "
                         "number of microbatches. With P ranks in each, rank r P + p of the run is rank p of replica r",
              .least = 1, .most = largest_int32),
          PLUMBLINE_KEY(pipeline.timeout_ms, .name = "timeout_ms",
                        .meaning = "longest wait for another rank within a step; default in a sweep: 30000", .least = 1,
                        .most = longest_timeout_ms, .why_most = a_week),
          PLUMBLINE_KEY(pipeline.start_timeout_ms, .name = "start_timeout_ms",
                        .meaning = "the same before the first step, while ranks load and connect", .least = 1,
                        .most = longest_timeout_ms, .why_most = a_week)};
}

Keys evaluate_keys() {
  return {
      PLUMBLINE_KEY(evaluate.every, .name = "every",
                    .meaning = "steps between evaluations; 0: only after the last step. The last step always has one",
                    .least = 0),
      {{.name = "microbatches",
        .type = TomlType::integer,
        .meaning = "microbatches of an evaluation, with the lengths of a step's",
        .otherwise = "as many as a step's",
        .least = 1,
        .most = 1000000}}};
}

Keys checkpoint_keys() {
  return {
      PLUMBLINE_KEY(checkpoint_table().folder, .name = "folder",
                    .meaning = "the folder for checkpoints; required here or on the command line",
                    .otherwise = "`--checkpoint`"),
      PLUMBLINE_KEY(checkpoint_table().every, .name = "every",
                    .meaning = "steps between checkpoints; 0: only at the end. There is always one at the end",
                    .least = 0),
      PLUMBLINE_KEY(checkpoint_table().keep, .name = "keep", .meaning = "how many to keep: the newest", .least = 1),
      PLUMBLINE_KEY(checkpoint_table().background, .name = "background",
                    .meaning = "training continues while a thread writes a copy of parameters and moments from host "
                               "memory"),
      PLUMBLINE_KEY(checkpoint_table().timeout_ms, .name = "timeout_ms",
                    .meaning = "longest time to write one; a slower save is given up, as with a full disk", .least = 1,
                    .most = longest_timeout_ms, .why_most = a_week)};
}

Keys record_keys() {
  return {{{.name = "level",
            .meaning = "how much is written: record-format.md#files",
            .fallback = "full",
            .words = {"none", "summary", "full", "dump"}}}};
}

#undef PLUMBLINE_KEY

/// In the order of the page.
const std::vector<std::pair<std::string, Keys>>& tables() {
  static const std::vector<std::pair<std::string, Keys>> all{
      {"model", model_keys()},       {"data", data_keys()},         {"train", train_keys()},
      {"pipeline", pipeline_keys()}, {"evaluate", evaluate_keys()}, {"checkpoint", checkpoint_keys()},
      {"record", record_keys()}};
  return all;
}

}  // namespace

const std::vector<std::string>& known_optimizers() {
  static const std::vector<std::string> names{"adamw", "sgd"};
  return names;
}

const std::vector<KeyOf<RunFile>>& run_keys(const std::string& table) {
  return std::ranges::find(tables(), table, [](const auto& each) { return each.first; })->second;
}

const std::vector<TomlKey>& run_file_keys() {
  static const std::vector<TomlKey> keys = [] {
    std::vector<TomlKey> all{
        {.name = "name", .meaning = "the run's name in sweeps and reports", .otherwise = "the file's"}};
    for (const auto& [table, of_table] : tables()) {
      const bool required = table == "model" || table == "data" || table == "train";
      all.push_back({.name = table,
                     .type = TomlType::table,
                     .meaning = "run-file.md#" + table,
                     .required = required,
                     .keys = without_fields(of_table)});
    }
    return all;
  }();
  return keys;
}

Json run_file_schema() {
  return toml_schema("A run file of Plumbline: docs/run-file.md", run_file_keys());
}

}  // namespace plumbline
