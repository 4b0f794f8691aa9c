// SPDX-License-Identifier: BSD-3-Clause
#include "training/manifest.hpp"

#include "model/tied_names.hpp"
#include "record/manifest.hpp"
#include "support/hash.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_check.hpp"
#include "training/tokens.hpp"

namespace plumbline {

Json optimizer_json(const OptimizerSettings& settings) {
  Json json{{"name", settings.name}, {"learning_rate", settings.learning_rate}};
  if (settings.name == "adamw") {
    json["beta1"] = settings.beta1;
    json["beta2"] = settings.beta2;
    json["eps"] = settings.eps;
  } else {
    json["momentum"] = settings.momentum;
  }
  json["weight_decay"] = settings.weight_decay;
  json["decay"] = settings.decay;
  return json;
}

Json make_manifest(const std::string& role, const std::vector<std::string>& command, const Run& run,
                   std::int64_t world_size, const ManifestSchedule& schedule, const std::vector<StageEntry>& stages,
                   const std::optional<ResumedFrom>& resumed_from) {
  const RunFile& file = run.file;
  const std::string& order = schedule.accumulation;
  Json manifest;
  manifest["schema"] = record_schema_name();
  manifest["run_id"] = run.id;
  manifest["role"] = role;
  manifest["command"] = command;
  manifest["model"] = run.config.source;
  manifest["seed"] = run.train.seed;
  manifest["dtype"] = run.train.dtype;
  manifest["device"] = run.device_type();
  manifest["threads"] = run.train.threads;
  manifest["recompute"] = to_text(run.train.recompute);
  if (role == "pipeline") manifest["transport"] = run.pipeline.transport;
  manifest["world_size"] = world_size;
  manifest["steps"] = run.train.steps;
  manifest["data"] = {{"source", source_text(file.data)}, {"microbatches", schedule.microbatches}};
  if (file.validation) {
    manifest["evaluation"] = {{"every", file.evaluate.every},
                              {"microbatches", std::ssize(file.validation->row_lengths)},
                              {"source", source_text(*file.validation)}};
  }
  manifest["schedule"] = {{"name", schedule.name},
                          {"chunks_per_rank", schedule.chunks_per_rank},
                          {"microbatches", schedule.microbatches},
                          {"digest", hash_hex(schedule.csv)},
                          {"accumulation", order.empty() ? "ascending" : "listed"},
                          {"accumulation_digest", order.empty() ? Json(nullptr) : Json(hash_hex(order))}};
  manifest["stages"] = stages;
  manifest["tied"] = Json::array();
  if (run.config.tied) {
    manifest["tied"].push_back(Json::array({head_weight, embedding_weight}));
  }
  manifest["frozen"] = Json::array();
  manifest["loss_scaling"] = "before";
  manifest["boundary_gradient_factor"] = 1;
  manifest["optimizer"] = optimizer_json(run.train.optimizer);
  manifest["learning_rate_schedule"] = {{"warmup_steps", run.train.warmup_steps},
                                        {"start_factor", run.train.start_factor},
                                        {"final_factor", run.train.final_factor},
                                        {"total_steps", run.train.steps}};
  if (run.train.curve != "cosine") manifest["learning_rate_schedule"]["curve"] = run.train.curve;
  if (run.train.curve == "wsd") manifest["learning_rate_schedule"]["decay_steps"] = run.train.decay_steps;
  manifest["clip_norm"] = run.train.clip_norm ? Json(*run.train.clip_norm) : Json(nullptr);
  manifest["level"] = to_text(run.record_level);
  manifest["versions"] = versions_json();
  manifest["machine"] = machine_json();
  manifest["environment"] = environment_json();
  if (run.device.is_cuda()) {
    manifest["versions"].update(gpu_versions_json());
    manifest["machine"]["gpus"] = run.gpus;
    if (run.record_level != RecordLevel::none) manifest["action_times"] = "gpu";
  }
  manifest["clock_skew_ns"] = 0;
  manifest["started"] = now_text();
  if (resumed_from && resumed_from->step < run.train.steps) {  // otherwise no steps remain, and there is no record
    manifest["first_step"] = resumed_from->step;
    manifest["resumed_from"] = {{"run_id", resumed_from->run_id}, {"step", resumed_from->step}};
    if (!resumed_from->changes.empty()) manifest["resumed_from"]["changes"] = resumed_from->changes;
  }
  return manifest;
}

void write_record_start(const std::filesystem::path& record, const Run& run, const Json& manifest,
                        const ManifestSchedule& schedule) {
  write_manifest(record, manifest);
  if (!run.recorded()) return;
  write_schedule_csv(record, schedule.csv);
  if (!schedule.accumulation.empty()) write_accumulation_csv(record, schedule.accumulation);
}

}  // namespace plumbline
