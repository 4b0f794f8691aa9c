// SPDX-License-Identifier: BSD-3-Clause
// What a finished sweep computed and took, small enough to be committed beside the code (docs/baselines.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/baseline/request_keys.hpp"
#include "support/json.hpp"

namespace plumbline {

inline constexpr const char* baseline_schema = "plumbline-baseline/1";

/// What one rank took: the largest of all steps. Absent where its record does not say.
struct RankBytes {
  std::int64_t rank = 0;
  std::map<std::string, std::int64_t> bytes;  ///< by memory.csv's column, and "sent_bytes", "messages_sent" of a run
  std::string peak_action;  ///< the first with the largest peak_bytes: "2F0"; empty where none is told
};

/// One run, a reference or a cell, by the id of its folder.
struct RunBaseline {
  std::string id;
  std::string asked;                              ///< digest of what was asked of it; empty where nobody asked
  RequestKeys request;                            ///< the same key by key; empty in files of older versions
  std::map<std::string, std::string> outcomes;    ///< of its checks
  std::vector<std::string> losses;                ///< of each step, as steps.csv writes them
  std::vector<std::string> gradient_norms;        ///< the same
  std::map<std::string, std::string> parameters;  ///< digest by name, at the end
  std::map<std::string, std::int64_t>
      saved_bytes;  ///< of a reference: kept for the backward pass by unit, of all microbatches
  std::vector<RankBytes> ranks;
};

/// A change that somebody took on, with why.
struct AcceptedChange {
  std::string commit, reason;
  std::vector<std::string> changes;  ///< as they were told
};

struct Baseline {
  std::string name, sweep, taken, commit;
  Json code_path = Json::object();    ///< what decides bits beside the source: bits of another are not comparable
  Json environment = Json::object();  ///< machine, versions and environment of the references' manifests
  std::vector<RunBaseline> references;
  std::vector<RunBaseline> cells;  ///< without losses, norms and parameters where those are the reference's
  std::map<std::string, std::string> reference_of;  ///< cell -> reference
  std::vector<AcceptedChange> accepted;
  std::map<std::string, std::string> red;  ///< cells that do not hold, with what is wrong: of a sweep that is compared
};

Json to_json(const Baseline& baseline);
/// Throws InputError naming file and key: also for a cell whose reference is not in the file.
Baseline read_baseline(const std::filesystem::path& file);

}  // namespace plumbline
