// SPDX-License-Identifier: BSD-3-Clause
// The part of manifest.json that both trainers share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "support/json.hpp"
#include "training/run.hpp"

namespace plumbline {

struct ManifestSchedule {
  std::string name;
  std::int64_t chunks_per_rank = 1;
  std::int64_t microbatches = 0;  ///< of each replica
  std::string csv;                ///< schedule.csv's bytes
  std::string accumulation;       ///< accumulation.csv's bytes; empty: gradients are added in ascending order
};

/// `resumed_from`: of a resumed run, whose record begins there.
Json make_manifest(const std::string& role, const std::vector<std::string>& command, const Run& run,
                   std::int64_t world_size, const ManifestSchedule& schedule, const std::vector<StageEntry>& stages,
                   const std::optional<ResumedFrom>& resumed_from = std::nullopt);

/// Writes manifest.json and, if steps are recorded, the lists whose digests it contains.
void write_record_start(const std::filesystem::path& record, const Run& run, const Json& manifest,
                        const ManifestSchedule& schedule);

/// The optimizer's name and settings.
Json optimizer_json(const OptimizerSettings& settings);

}  // namespace plumbline
