// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_keys.hpp"

#include <algorithm>

#include "harness/judge/judge.hpp"
#include "schedule/schedule.hpp"

namespace plumbline {
namespace {

using Keys = std::vector<KeyOf<SweepFile>>;

const std::vector<std::string> optimizer_names{"adamw", "sgd"};

constexpr double most_requested = 1'000'000'000;

/// A row with the field that it sets.
#define PLUMBLINE_KEY(field, ...) \
  key_of<SweepFile>(              \
      [](SweepFile & sweep) -> auto& { return sweep.field; }, TomlKey{__VA_ARGS__})

Keys keys_of_all() {
  return {{{.name = "name",
            .meaning = "what reports call the sweep: `mine/sweep.toml` is `mine/sweep`, `release.toml` is `release`",
            .otherwise = "folder and file"}},
          {{.name = "world_sizes",
            .type = TomlType::integers,
            .meaning = "ranks of a pipeline",
            .otherwise = "none",
            .least = 1,
            .most = largest_world,
            .distinct = true}},
          {{.name = "schedules",
            .type = TomlType::texts,
            .meaning = "names of `plumbline schedule list`, or CSV files' paths; with commands the trainer's own names",
            .otherwise = "the run file's"}},
          PLUMBLINE_KEY(checks, .name = "checks",
                        .meaning = "checks to make (checks.md); `as_asked` and `completion` are always made",
                        .otherwise = "all", .words = check_names(), .distinct = true),
          PLUMBLINE_KEY(
              accept_missing, .name = "accept_missing",
              .meaning = "claims: a case holds even if these were not compared in full; the verdict names them. If you "
                         "change the list, `--resume` judges finished cases again",
              .otherwise = "none", .words = claims_of_every_case(), .distinct = true, .may_be_empty = true),
          PLUMBLINE_KEY(accept_gaps, .name = "accept_gaps", .meaning = "does not report what the data cannot show"),
          PLUMBLINE_KEY(commit, .name = "commit", .meaning = "\"Your commit\" in the report",
                        .otherwise = "HEAD of the sweep file's git checkout"),
          PLUMBLINE_KEY(repeat, .name = "repeat", .meaning = "ids of cases to run twice, for the check `repeatability`",
                        .otherwise = "none", .distinct = true, .may_be_empty = true),
          {{.name = "launcher",
            .meaning = "the command that starts the ranks; `{world}` is their number",
            .otherwise = "this machine's"}},
          {{.name = "device", .meaning = "of both trainers", .fallback = "cpu", .words = {"cpu", "cuda"}}},
          PLUMBLINE_KEY(time_limit_s, .name = "time_limit_s", .meaning = "longest time of one run", .least = 0,
                        .most = 1e6, .above = true),
          {{.name = "cell",
            .type = TomlType::tables,
            .meaning = "one more case: sweep-file.md#cell",
            .otherwise = "none"}}};
}

}  // namespace

const std::vector<TomlKey>& cell_keys() {
  const std::string of_run = "the run file's";
  static const std::vector<TomlKey> keys{
      {.name = "run", .meaning = "the run file's path", .required = true, .example = "\"run.toml\""},
      {.name = "world_size",
       .type = TomlType::integer,
       .meaning = "ranks of a pipeline",
       .required = true,
       .example = "2",
       .least = 1,
       .most = largest_world},
      {.name = "replicas",
       .type = TomlType::integer,
       .meaning = "copies of the pipeline",
       .otherwise = of_run,
       .least = 1,
       .most = largest_world},
      {.name = "schedule", .meaning = "a name or a CSV file's path", .otherwise = of_run},
      {.name = "optimizer", .meaning = "the optimizer", .otherwise = of_run, .words = optimizer_names},
      {.name = "partition",
       .meaning = "how layers are spread over stages",
       .otherwise = of_run,
       .words = {"uniform", "cost"}},
      {.name = "balance",
       .type = TomlType::integers,
       .meaning = "layers of each stage; instead of `partition`",
       .otherwise = of_run,
       .least = 0,
       .most = most_layers},
      {.name = "lengths",
       .type = TomlType::integer_rows,
       .meaning = "as `data.lengths`",
       .otherwise = of_run,
       .least = 1},
      {.name = "resume_at",
       .type = TomlType::integer,
       .meaning =
           "stops the run after this many steps with a checkpoint, and resumes it; the resumed record is compared "
           "with the uninterrupted reference (checks.md#resume). With `world_size = 1` and `schedule = "
           "\"sequential\"`, the reference runs the first part",
       .least = 1},
      {.name = "resume_world",
       .type = TomlType::integer,
       .meaning = "ranks of the resumed run",
       .otherwise = "`world_size`",
       .least = 1,
       .most = largest_world},
      {.name = "resume_schedule", .meaning = "its schedule", .otherwise = "`schedule`"}};
  return keys;
}

const std::vector<KeyOf<SweepFile>>& run_file_sweep_keys() {
  static const Keys keys{
      {{.name = "run",
        .type = TomlType::texts,
        .meaning = "run files (run-file.md) of the matrix",
        .otherwise = "none"}},
      PLUMBLINE_KEY(replicas, .name = "replicas",
                    .meaning =
                        "copies of the pipeline: a case has `replicas` x ranks; skipped where it does not divide a "
                        "run's microbatches",
                    .otherwise = "the run file's", .least = 1, .most = largest_world, .distinct = true),
      PLUMBLINE_KEY(in_turn, .name = "in_turn",
                    .meaning = "more schedules: each once at every world size, with the runs in rotation",
                    .otherwise = "none", .words = schedule_names(), .distinct = true),
      PLUMBLINE_KEY(optimizers, .name = "optimizers", .meaning = "optimizers of the matrix",
                    .otherwise = "the run file's", .words = optimizer_names, .distinct = true),
      PLUMBLINE_KEY(clipping, .name = "clipping",
                    .meaning = "in all cases of the matrix, the clip limit must act in some steps and not in others"),
      PLUMBLINE_KEY(bench, .name = "bench",
                    .meaning =
                        "requires that the data cover all faults (checks.md#of-each-reference-bench); otherwise gaps "
                        "are a warning"),
      {{.name = "tier",
        .meaning = "comparison mode: exactness.md#comparison-modes",
        .fallback = "bits",
        .words = {"bits", "calibrated"}}},
      PLUMBLINE_KEY(mixed_gpus, .name = "mixed_gpus",
                    .meaning = "allows GPUs of different models; only with `calibrated`")};
  return keys;
}

#undef PLUMBLINE_KEY

const std::vector<TomlKey>& requested_keys() {
  const auto count = [](const char* name, const char* meaning, double least) {
    return TomlKey{.name = name,
                   .type = TomlType::integer,
                   .meaning = meaning,
                   .otherwise = "not requested",
                   .least = least,
                   .most = most_requested};
  };
  static const std::vector<TomlKey> keys{
      count("steps", "steps of every run of a command. This key and the next ones are requested if given", 1),
      count("microbatches", "microbatches of a step", 1),
      count("seed", "the record's seed", 0),
      count("threads", "compute threads of each rank", 1),
      {.name = "dtype",
       .meaning = "of the computation",
       .otherwise = "not requested",
       .words = {"float32", "float64", "bfloat16"}},
      {.name = "level",
       .meaning = "of the record; as `{level}`, which is `full` without this key",
       .otherwise = "not requested",
       .words = {"summary", "full", "dump"}},
      {.name = "device", .meaning = "of both trainers", .words = {"cpu", "cuda"}}};
  return keys;
}

const std::vector<KeyOf<SweepFile>>& command_sweep_keys() {
  static const Keys keys = [] {
    Keys all{
        {{.name = "reference",
          .type = TomlType::texts,
          .meaning = "the words of the command that trains on one device",
          .otherwise = "none"}},
        {{.name = "candidate",
          .type = TomlType::texts,
          .meaning = "the words of the command that trains as a pipeline",
          .otherwise = "none"}},
        {{.name = "environment",
          .type = TomlType::table,
          .meaning = "variables for both commands",
          .otherwise = "empty"}},
        {{.name = "values", .type = TomlType::table, .meaning = "placeholders of your own", .otherwise = "empty"}},
        {{.name = "mesh",
          .type = TomlType::table,
          .meaning =
              "axes other than the pipeline, `{ dp = 2, tp = 2 }`; `world_sizes` then count the ranks of one pipeline",
          .otherwise = "empty"}}};
    for (const TomlKey& key : requested_keys()) {
      if (key.name != "device") all.push_back({key, {}});
    }
    return all;
  }();
  return keys;
}

const std::vector<KeyOf<SweepFile>>& sweep_keys() {
  static const Keys keys = [] {
    Keys all = keys_of_all();
    for (const auto* more : {&run_file_sweep_keys(), &command_sweep_keys()})
      all.insert(all.end(), more->begin(), more->end());
    return all;
  }();
  return keys;
}

Json sweep_file_schema() {
  Json schema = toml_schema("A sweep file of Plumbline: docs/sweep-file.md", without_fields(sweep_keys()));
  // Next to commands a [[cell]] has other keys: of the request, commands, and values of its own.
  std::vector<TomlKey> of_commands = requested_keys();
  for (TomlKey& key : of_commands) key.otherwise = "the file's";
  of_commands.push_back(*std::ranges::find(cell_keys(), "world_size", &TomlKey::name));
  of_commands.push_back(*std::ranges::find(cell_keys(), "schedule", &TomlKey::name));
  Json has_commands = Json::array();
  for (const std::string name : {"reference", "candidate"}) {
    of_commands.push_back(
        {.name = name, .type = TomlType::texts, .meaning = "its own command", .otherwise = "the file's"});
    const Json required{{"required", {name}}};
    has_commands.push_back(required);
    has_commands.push_back({{"required", {"cell"}}, {"properties", {{"cell", {{"contains", required}}}}}});
  }
  const auto cells = [](const Json& items) { return Json{{"properties", {{"cell", {{"items", items}}}}}}; };
  schema["if"] = {{"anyOf", has_commands}};
  schema["then"] = cells(toml_object_schema(of_commands, /*other_keys=*/true));
  schema["else"] = cells(toml_object_schema(cell_keys(), /*other_keys=*/false));
  return schema;
}

}  // namespace plumbline
