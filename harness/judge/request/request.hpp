// SPDX-License-Identifier: BSD-3-Clause
// request.json: what was asked of a run, written before it starts, so that what ran can be held against it
// (docs/request.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "record/record.hpp"
#include "support/json.hpp"

namespace plumbline {

/// Name of the schema that this version writes and reads.
inline constexpr const char* request_schema = "plumbline-request/1";

struct RequestedSchedule {
  std::string name;  ///< a name of `plumbline schedule list`, or a file's name; of another trainer's what it is called
  std::optional<std::int64_t> chunks_per_rank;
  std::optional<std::string> digest;  ///< XXH3-128 of the bytes that schedule.csv must have
};

struct RequestedMicrobatch {
  std::vector<std::int64_t> lengths;  ///< tokens of each row
  bool masked = false;                ///< no valid label
  friend bool operator==(const RequestedMicrobatch&, const RequestedMicrobatch&) = default;
};

/// Where tokens come from (docs/data.md).
struct RequestedData {
  std::vector<std::filesystem::path> files;  ///< absolute, in the order in which their tokens follow one another
  std::vector<std::int64_t> sizes;           ///< bytes of each
  /// "bytes": one id a byte of a UTF-8 text; "uint16", "uint32": files of ids, so wide where they do not say it.
  std::string format;
  std::uint64_t seed = 1;
  std::string shuffle = "none";  ///< none | windows
};

/// The loss on data that is not trained on.
struct RequestedEvaluation {
  std::int64_t every = 0;  ///< steps from one to the next; 0: after the last alone
  std::vector<RequestedMicrobatch> microbatches;
  RequestedData data;
};

/// A field that is absent was not asked for.
struct Request {
  std::optional<std::string> role;
  std::optional<std::int64_t> world_size;
  std::optional<RequestedSchedule> schedule;
  std::optional<std::vector<StageEntry>> stages;
  std::optional<std::string> model_digest;  ///< model_digest() of config.json
  std::optional<std::uint64_t> seed;
  std::optional<std::string> dtype;
  std::optional<Json> optimizer;               ///< `name` and all its numbers, as in a manifest
  std::optional<Json> learning_rate_schedule;  ///< total_steps, warmup_steps, start_factor, final_factor
  std::optional<Json> clip_norm;               ///< a number, or null: no clipping
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> first_step;  ///< with which the record begins: above 0 where a run is gone on with
  std::optional<std::vector<RequestedMicrobatch>> microbatches;  ///< of each step
  std::optional<std::int64_t> microbatch_count;                  ///< where their lengths are not asked for
  std::optional<std::string> accumulation_digest;                ///< of the order file; empty: ascending
  std::optional<std::string> device, transport, level;
  std::optional<std::int64_t> threads;   ///< that compute, of each rank
  std::optional<std::string> recompute;  ///< none | layer
  std::optional<RequestedData> data;
  std::optional<std::optional<RequestedEvaluation>> evaluation;  ///< nothing within: none is to be made
};

/// XXH3-128 of a model configuration's canonical JSON: keys sorted, no blanks.
std::string model_digest(const Json& config);

Json to_json(const Request& request);

/// Throws InputError naming `where` and the key: another schema, an unknown key, a value of another type.
Request request_from_json(const Json& json, const std::string& where);
Request read_request(const std::filesystem::path& file);

/// Keys that the request leaves out, in the order of the schema.
std::vector<std::string> not_asked(const Request& request);

}  // namespace plumbline
