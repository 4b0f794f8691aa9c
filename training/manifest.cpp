#include "training/manifest.hpp"

#include "model/tied_names.hpp"
#include "record/manifest.hpp"
#include "support/hash.hpp"
#include "training/environment.hpp"
#include "training/gpu/gpu_capabilities.hpp"
#include "training/token_source.hpp"

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

void name_run(Json& manifest, const std::string& run_id, const std::optional<ResumedFrom>& resumed_from) {
  manifest["run_id"] = run_id;
  // All steps made: no record is kept of none.
  if (!resumed_from || resumed_from->step >= manifest.at("steps").get<std::int64_t>()) return;
  manifest["first_step"] = resumed_from->step;
  manifest["resumed_from"] = {{"run_id", resumed_from->run_id}, {"step", resumed_from->step}};
}

namespace {

Json stages_json(const std::vector<StageEntry>& stages) {
  Json json = Json::array();
  for (const StageEntry& stage : stages) {
    json.push_back({{"stage", stage.stage}, {"rank", stage.rank}, {"units", stage.units}});
  }
  return json;
}

}  // namespace

Json make_manifest(const std::string& role, const std::vector<std::string>& command, const RunFile& run,
                   const LlamaConfig& config, const BatchPlan& plan, std::int64_t world_size,
                   const ManifestSchedule& schedule, const std::vector<StageEntry>& stages, const Json& gpus) {
  Json manifest;
  manifest["schema"] = record_schema_name();
  manifest["run_id"] = new_run_id();
  manifest["role"] = role;
  manifest["command"] = command;
  manifest["model"] = config.source;
  manifest["seed"] = run.train.seed;
  manifest["dtype"] = run.train.dtype;
  manifest["device"] = run.device;
  manifest["threads"] = run.train.threads;
  manifest["recompute"] = to_text(run.train.recompute);
  if (role == "pipeline") manifest["transport"] = run.pipeline.transport;
  manifest["world_size"] = world_size;
  manifest["steps"] = run.train.steps;
  manifest["data"] = {{"source", source_text(run.data)}, {"microbatches", plan.microbatches()}};
  if (run.validation) {
    manifest["evaluation"] = {{"every", run.evaluate.every},
                              {"microbatches", std::ssize(run.validation->row_lengths)},
                              {"source", source_text(*run.validation)}};
  }
  manifest["schedule"] = {{"name", schedule.name},
                          {"chunks_per_rank", schedule.chunks_per_rank},
                          {"microbatches", plan.microbatches()},
                          {"digest", hash_hex(schedule.csv)},
                          {"accumulation", schedule.accumulation},
                          {"accumulation_digest",
                           schedule.accumulation_digest.empty() ? Json(nullptr) : Json(schedule.accumulation_digest)}};
  manifest["stages"] = stages_json(stages);
  manifest["tied"] = Json::array();
  if (config.tied) {
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
  manifest["clip_norm"] = run.train.clip_norm ? Json(*run.train.clip_norm) : Json(nullptr);
  manifest["level"] = to_text(run.record_level);
  manifest["versions"] = versions_json();
  manifest["machine"] = machine_json();
  manifest["environment"] = environment_json();
  if (run.device == "cuda") {
    manifest["versions"].update(gpu_versions_json());
    manifest["machine"]["gpus"] = gpus;
    if (run.record_level != RecordLevel::none) manifest["action_times"] = "gpu";
  }
  manifest["clock_skew_ns"] = 0;
  manifest["started"] = now_text();
  return manifest;
}

}  // namespace plumbline
