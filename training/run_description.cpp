// SPDX-License-Identifier: BSD-3-Clause
#include "training/run_description.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
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

std::string text_at(const Json& object, const char* key) {
  return object.at(key).get<std::string>();
}

std::vector<std::string> run_lines(const Json& run) {
  const Json &model = run.at("model"), &data = run.at("data"), &train = run.at("train");
  const Json& weights = model.at("weights");
  return {"model " + text_of(text_at(model, "config")) + ": " + quantity(model.at("layers"), "layer") + ", " +
              model.at("parameters").dump() + " parameters, " + (model.at("tied") ? "tied, " : "") +
              text_at(train, "precision") + (weights.is_null() ? "" : ", from " + text_of(text_at(model, "weights"))),
          quantity(train.at("steps"), "step") + " of " + quantity(data.at("microbatches"), "microbatch") + ", " +
              quantity(data.at("step_tokens"), "token") + " a step, by " + text_at(train.at("optimizer"), "name") +
              ", from " + text_at(data, "source")};
}

/// "2 replicas of 4 ranks over mpi (cpu): schedule 1f1b, uniform partition: stages of 2, 1, 1, 1 layers"
std::string plan_line(const Json& description) {
  const Json &plan = description.at("plan"), &pipeline = description.at("run").at("pipeline");
  const std::string device = " (" + text_at(description.at("run"), "device") + ")";
  if (plan.is_null()) return "one device" + device;
  std::vector<std::string> layers;
  for (const Json& stage : plan.at("stages")) {
    layers.push_back(std::to_string(std::ranges::count_if(
        stage.at("units"), [](const Json& unit) { return unit.get<std::string>().starts_with("layers."); })));
  }
  const std::int64_t replicas = plan.at("replicas"), ranks = plan.at("ranks").get<std::int64_t>() / replicas;
  return (replicas == 1 ? "" : std::to_string(replicas) + " replicas of ") + quantity(ranks, "rank") + " over " +
         text_at(pipeline, "transport") + device + ": schedule " + text_at(plan, "schedule") + ", " +
         text_at(pipeline, "partition") + " partition: stages of " + join(layers, ", ") + " layers";
}

std::string memory_table(const Json& description) {
  const Json &memory = description.at("memory"), &run = description.at("run");
  const Json &train = run.at("train"), &plan = description.at("plan");
  std::string text =
      "Lower bounds" +
      (plan.is_null() ? " (" : ", for the rank that needs the most (schedule " + text_at(plan, "schedule") + ", ") +
      "precision " + text_at(train, "precision") + ", recompute " + text_at(train, "recompute") + ", record level " +
      text_at(run.at("record"), "level") + "):\n";
  constexpr const char* row_format = "{:<11} {:>9} {:>10} {:>9} {:>9} {:>11} {:>9}\n";
  text += fmt::format(row_format, "", "in all", "parameters", "gradients", "optimizer", "activations", "all ranks");
  for (const Json& row : memory.at("table")) {
    const auto bytes = [&](const char* key) { return bytes_text(row.at(key)); };
    text += row.contains("refusal")
                ? text_at(row, "devices") + ": " + text_at(row, "refusal") + "\n"
                : fmt::format(row_format, text_at(row, "devices"), bytes("total"), bytes("parameters"),
                              bytes("gradients"), bytes("optimizer"), bytes("activations"), bytes("all_ranks"));
  }
  return text + "Free on this machine: " + bytes_text(memory.at("free")) + ". In addition " +
         (plan.is_null() ? "the run needs memory for LibTorch" : "a rank needs memory for LibTorch, MPI") +
         " and running kernels.\n";
}

/// The answer to --check of a run that can start.
std::string check_text(const Json& answer) {
  const Json &run = answer.at("run"), &plan = answer.at("plan");
  std::string text =
      text_at(answer, "run_file") + ": can run\n" + join(run_lines(run), "\n") + "\n" + plan_line(answer) + "\n";
  const Json& ignored = run.at("model").at("ignored_keys");
  if (!ignored.empty()) text += "ignored in config.json: " + join(ignored.get<std::vector<std::string>>(), ", ") + "\n";
  if (plan.is_object()) {
    for (const std::string note : plan.at("notes")) text += "note: " + text_at(plan, "schedule") + ": " + note + "\n";
  }
  return text + memory_table(answer);
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

Json describe_run(const Run& run, const Json& plan) {
  return {{"run", resolved_run(run)}, {"plan", plan}};
}

Json memory_row(const std::string& devices, const MemoryPlan& largest, std::int64_t all_ranks) {
  return {{"devices", devices},
          {"total", largest.total()},
          {"parameters", largest.parameters},
          {"gradients", largest.gradients},
          {"optimizer", largest.optimizer},
          {"activations", largest.activations},
          {"all_ranks", all_ranks}};
}

void tell_start(const Json& description, const Run& run, const std::filesystem::path& record,
                const std::optional<ResumedFrom>& resumed_from) {
  print_line(text_of(run.file.path) + " on " + plan_line(description));
  for (const std::string& line : run_lines(description.at("run"))) print_line(line);
  if (resumed_from) {
    print_line("resumes after " + quantity(resumed_from->step, "step") + " of run " + resumed_from->run_id);
  }
  print_line(kept(run, record));
  if (!run.checkpoint.folder) return;
  print_line("to save and stop: kill -TERM " + std::to_string(getpid()) + " on " + host_name(host_identity()));
}

void tell_end(const Run& run, const std::filesystem::path& record) {
  print_line("done: " + kept(run, record));
}

int answer_check(const std::string& program, const std::filesystem::path& run_file, bool as_json,
                 const std::function<void(Json&)>& ask) {
  Json answer = {{"schema", check_schema}, {"program", program}, {"run_file", run_file.string()},
                 {"can_run", true},        {"exit_code", 0},     {"message", nullptr}};
  const auto failure = failure_of([&] { ask(answer); });
  if (failure) {
    answer["can_run"] = false;
    answer["exit_code"] = static_cast<int>(failure->code);
    answer["message"] = failure->words;
    std::fprintf(stderr, "%s: %s\n", program.c_str(), printable_lines(failure->words).c_str());
  }
  if (as_json) {
    std::cout << json_text(answer, 2) << '\n';
  } else if (!failure) {
    print_text(check_text(answer));
  }
  return answer["exit_code"];
}

void check_inputs(const Run& run, const std::filesystem::path& record) {
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
