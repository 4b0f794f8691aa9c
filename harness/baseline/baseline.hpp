// SPDX-License-Identifier: BSD-3-Clause
// Results and resource use of a finished sweep, small enough to be committed with the code (docs/baselines.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/baseline/run_identity.hpp"
#include "support/json.hpp"

namespace plumbline {

inline constexpr const char* baseline_schema = "plumbline-baseline/1";

/// Maxima of one rank over all steps. Absent if the record lacks them.
struct RankBytes {
  std::int64_t rank = 0;
  std::map<std::string, std::int64_t> bytes;  ///< by column of memory.csv; "sent_bytes", "messages_sent" of a run
  std::string peak_action;                    ///< the first action with the largest peak_bytes: "2F0"; empty if unknown
};

/// A reference or case, by the id of its folder.
struct RunBaseline {
  std::string id;
  std::string asked;                              ///< digest of its request; empty without one
  RequestKeys request;                            ///< the request by key; empty in files of older versions
  std::map<std::string, std::string> outcomes;    ///< of its checks
  std::vector<std::string> losses;                ///< per step, as in steps.csv
  std::vector<std::string> gradient_norms;        ///< the same
  std::map<std::string, std::string> parameters;  ///< digest by name, at the end
  /// Of a reference: bytes kept for the backward pass by unit, over all microbatches.
  std::map<std::string, std::int64_t> saved_bytes;
  std::vector<RankBytes> ranks;
};

/// An accepted change, with the reason.
struct AcceptedChange {
  std::string commit, reason;
  std::vector<std::string> changes;  ///< as reported
};

struct Baseline {
  std::string name, sweep, taken, commit;
  Json code_path = Json::object();    ///< what determines bits besides the source; other bits are not comparable
  Json environment = Json::object();  ///< machine, versions and environment of the references' manifests
  std::vector<RunBaseline> references;
  std::vector<RunBaseline> cells;                   ///< without losses, norms and parameters equal to the reference's
  std::map<std::string, std::string> reference_of;  ///< case to reference
  std::vector<AcceptedChange> accepted;
  std::map<std::string, std::string> red;  ///< failing cases of a compared sweep, with the reason
};

Json to_json(const Baseline& baseline);
/// Throws InputError naming file and key, also for a case whose reference is missing.
Baseline read_baseline(const std::filesystem::path& file);

}  // namespace plumbline
