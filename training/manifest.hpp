// The part of manifest.json that both trainers write alike.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/config.hpp"
#include "record/record.hpp"
#include "support/json.hpp"
#include "training/batch_plan.hpp"
#include "training/run_file.hpp"

namespace plumbline {

struct ManifestSchedule {
  std::string name;
  std::int64_t chunks_per_rank = 1;
  std::string csv;  ///< schedule.csv's bytes, digested
  std::string accumulation = "ascending";
  std::string accumulation_digest;  ///< of the order file; empty = null
};

/// `gpus`: of a run on GPUs, the models used, each once.
Json make_manifest(const std::string& role, const std::vector<std::string>& command, const RunFile& run,
                   const LlamaConfig& config, const BatchPlan& plan, std::int64_t world_size,
                   const ManifestSchedule& schedule, const std::vector<StageEntry>& stages, const Json& gpus = nullptr);

/// Under which name the run goes, and, of one that was gone on with, where its record begins.
void name_run(Json& manifest, const std::string& run_id, const std::optional<ResumedFrom>& resumed_from);

/// Its name and the settings that it takes.
Json optimizer_json(const OptimizerSettings& settings);

}  // namespace plumbline
