// SPDX-License-Identifier: BSD-3-Clause
#include "training/run_description.hpp"

#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "model/load_weights.hpp"
#include "model/parameter_shapes.hpp"
#include "model/tied_names.hpp"
#include "model/unit.hpp"
#include "record/writer.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/host.hpp"
#include "support/json_text.hpp"
#include "support/machine_memory.hpp"
#include "support/plain_text.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"
#include "training/checkpoint/checkpoint_folder.hpp"
#include "training/manifest.hpp"
#include "training/tokens.hpp"

namespace plumbline {

namespace {

Json or_null(const auto& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::int64_t parameters(const LlamaConfig& config) {
  std::int64_t count = 0;
  for (const ParameterShape& each : parameter_shapes(config)) {
    std::int64_t elements = is_tied_head(config, each.name) ? 0 : 1;
    for (const std::int64_t size : each.shape) elements = product_of_sizes({elements, size});
    count = sum_of_sizes({count, elements});
  }
  return count;
}

Json data_json(const DataSettings& data, const BatchPlan& plan) {
  std::vector<std::string> files;
  for (const std::filesystem::path& each : token_files(data)) files.push_back(each.string());
  std::vector<std::string> ignored;
  for (const std::filesystem::path& each : ignore_files(data)) ignored.push_back(each.string());
  return {{"source", source_text(data)},
          {"kind", data.text ? "text" : "tokens"},
          {"files", files},
          {"token_type", or_null(data.token_type)},
          {"seed", data.seed},
          {"shuffle", data.shuffle},
          {"microbatches", plan.microbatches()},
          {"row_lengths", data.row_lengths},
          {"masked", data.masked},
          {"ignore", ignored},
          {"source_tokens", plan.source_tokens()},
          {"step_tokens", plan.step_tokens()},
          {"first_step_valid_tokens", plan.step_valid_tokens(0)}};
}

std::string text_of(const std::filesystem::path& path) {
  return path.lexically_normal().string();
}

/// A count with its noun: "1 step", "2 steps".
std::string counted(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : what.ends_with("ch") ? "es" : "s");
}

/// Without the program's name, which prefixes error messages.
void print_line(const std::string& line) {
  const auto width = terminal_width(stderr);
  std::fprintf(stderr, "%s\n", (width ? wrapped(line, *width) : line).c_str());
}

/// "record in DIR, checkpoints in DIR"
std::string kept(const Run& run, const std::filesystem::path& record) {
  std::vector<std::string> places;
  if (run.recorded()) places.push_back("record (level " + to_text(run.record_level) + ") in " + text_of(record));
  if (const auto& folder = run.checkpoint.folder) places.push_back("checkpoints in " + text_of(*folder));
  return join(places, ", ");
}

}  // namespace

Json resolved_run(const Run& run) {
  const RunFile& file = run.file;
  const LlamaConfig& config = run.config;
  Json json;
  json["model"] = {{"config", file.config.string()},
                   {"weights", file.weights ? Json(file.weights->string()) : Json(nullptr)},
                   {"vocab_size", config.vocab_size},
                   {"hidden_size", config.hidden_size},
                   {"layers", config.layers},
                   {"parameters", parameters(config)},
                   {"tied", config.tied},
                   {"max_position_embeddings", config.max_position_embeddings},
                   {"units", unit_names(config)},
                   {"ignored_keys", config.ignored_keys}};
  json["data"] = data_json(file.data, run.batches);
  json["validation"] = file.validation ? data_json(*file.validation, *run.validation) : Json(nullptr);
  json["evaluate"] = {{"every", file.evaluate.every}};
  json["train"] = {{"steps", run.train.steps},
                   {"seed", run.train.seed},
                   {"precision", run.train.dtype},
                   {"recompute", to_text(run.train.recompute)},
                   {"threads", run.train.threads},
                   {"optimizer", optimizer_json(run.train.optimizer)},
                   {"warmup_steps", run.train.warmup_steps},
                   {"start_factor", run.train.start_factor},
                   {"final_factor", run.train.final_factor},
                   {"curve", run.train.curve},
                   {"decay_steps", run.train.decay_steps},
                   {"peak_tflops", or_null(run.train.peak_tflops)},
                   {"clip_norm", or_null(run.train.clip_norm)}};
  json["pipeline"] = {{"schedule", run.pipeline.schedule},     {"chunks", run.pipeline.chunks},
                      {"partition", run.pipeline.partition},   {"balance", run.pipeline.balance},
                      {"transport", run.pipeline.transport},   {"max_ctas", run.pipeline.max_ctas},
                      {"timeout_ms", run.pipeline.timeout_ms}, {"start_timeout_ms", run.pipeline.start_timeout_ms},
                      {"replicas", run.pipeline.replicas}};
  json["checkpoint"] = {{"folder", run.checkpoint.folder ? Json(run.checkpoint.folder->string()) : Json(nullptr)},
                        {"every", run.checkpoint.every},
                        {"keep", run.checkpoint.keep},
                        {"background", run.checkpoint.background},
                        {"timeout_ms", run.checkpoint.timeout_ms},
                        {"resume", or_null(run.resume)},
                        {"stop_after", or_null(run.stop_after)}};
  json["record"] = {{"level", to_text(run.record_level)}};
  json["device"] = run.device_type();
  return json;
}

std::vector<std::string> run_lines(const Run& run) {
  const LlamaConfig& config = run.config;
  const TrainSettings& train = run.train;
  return {"model " + text_of(run.file.config) + ": " + counted(config.layers, "layer") + ", " +
              std::to_string(parameters(config)) + " parameters, " + (config.tied ? "tied, " : "") + train.dtype +
              (run.file.weights ? ", from " + text_of(*run.file.weights) : ""),
          counted(train.steps, "step") + " of " + counted(run.file.microbatches(), "microbatch") + ", " +
              counted(run.batches.step_tokens(), "token") + " a step, by " + train.optimizer.name + ", from " +
              source_text(run.file.data)};
}

void tell_start(const std::string& how, const Run& run, const std::filesystem::path& record,
                const std::optional<ResumedFrom>& resumed_from) {
  print_line(text_of(run.file.path) + " on " + how);
  for (const std::string& line : run_lines(run)) print_line(line);
  if (resumed_from) {
    print_line("resumes after " + counted(resumed_from->step, "step") + " of run " + resumed_from->run_id);
  }
  print_line(kept(run, record));
  if (!run.checkpoint.folder) return;
  print_line("to save and stop: kill -TERM " + std::to_string(getpid()) + " on " + host_name(host_identity()));
}

void tell_end(const Run& run, const std::filesystem::path& record) {
  print_line("done: " + kept(run, record));
}

int answer_check(const std::string& program, const std::filesystem::path& run_file, bool as_json,
                 const std::function<void(RunAnswer&)>& ask) {
  RunAnswer answer;
  answer.json = {{"schema", check_schema}, {"program", program}, {"run_file", run_file.string()},
                 {"can_run", true},        {"exit_code", 0},     {"message", nullptr}};
  const auto failure = failure_of([&] { ask(answer); });
  if (failure) {
    answer.json["can_run"] = false;
    answer.json["exit_code"] = static_cast<int>(failure->code);
    answer.json["message"] = failure->words;
    std::fprintf(stderr, "%s: %s\n", program.c_str(), printable_lines(failure->words).c_str());
  }
  if (as_json) {
    std::cout << json_text(answer.json, 2) << '\n';
  } else if (!failure) {
    print_text(run_file.string() + ": can run\n" + answer.text);
  }
  return answer.json["exit_code"];
}

void check_inputs(const Run& run, const std::filesystem::path& record, RunAnswer& answer) {
  answer.json["run"] = resolved_run(run);
  for (const std::string& line : run_lines(run)) answer.text += line + "\n";
  if (!run.config.ignored_keys.empty()) {
    answer.text += "ignored in config.json: " + join(run.config.ignored_keys, ", ") + "\n";
  }
  if (!record.empty()) {
    require_new_record_folder(record);
    require_folder_can_be_made(record);
  }
  if (run.checkpoint.folder) {
    require_folder_can_be_made(*run.checkpoint.folder);
    if (!run.discard_later) require_no_later_work(run, steps_of_name(run.resume.value_or("")).value_or(0));
  }
  if (run.file.weights) check_weights(run.config, *run.file.weights);
  run.batches.make(0, 0);  // throws for ids beyond the vocabulary
  if (run.validation) run.validation->make(0, 0);
}

}  // namespace plumbline
