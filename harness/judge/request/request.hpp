// SPDX-License-Identifier: BSD-3-Clause
// request.json: the settings requested for a run, written before it starts, so that the run can be checked against them
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

/// The schema that this version writes and reads.
inline constexpr const char* request_schema = "plumbline-request/1";

struct RequestedSchedule {
  std::string name;  ///< a name of `plumbline schedule list`, a file's name, or the name in another trainer
  std::optional<std::int64_t> chunks_per_rank;
  std::optional<std::string> digest;  ///< XXH3-128 of the expected schedule.csv
};

struct RequestedMicrobatch {
  std::vector<std::int64_t> lengths;  ///< tokens of each row
  bool masked = false;                ///< fully masked: no valid label
  friend bool operator==(const RequestedMicrobatch&, const RequestedMicrobatch&) = default;
};

/// The source of tokens (docs/data.md).
struct RequestedData {
  std::vector<std::filesystem::path> files;  ///< absolute paths, in the order of their tokens
  std::vector<std::int64_t> sizes;           ///< their sizes in bytes
  /// "bytes": each byte of a UTF-8 text is an id; "uint16", "uint32": width of ids in files that do not state it.
  std::string format;
  std::uint64_t seed = 1;
  std::string shuffle = "none";  ///< none | windows
  /// With a byte for each token; other than 0: it is not a label. None: every token is one.
  std::vector<std::filesystem::path> ignore{};
  std::vector<std::int64_t> ignore_sizes{};  ///< in bytes
};

/// The loss on held-out data.
struct RequestedEvaluation {
  std::int64_t every = 0;  ///< interval in steps; 0: only after the last step
  std::vector<RequestedMicrobatch> microbatches;
  RequestedData data;
};

/// Absent fields were not requested.
struct Request {
  std::optional<std::string> role;
  std::optional<std::int64_t> world_size;
  std::optional<Json> mesh;  ///< sizes of the axes beside the pipeline's, by name
  std::optional<RequestedSchedule> schedule;
  std::optional<std::vector<StageEntry>> stages;
  std::optional<std::string> model_digest;  ///< model_digest() of config.json
  std::optional<std::uint64_t> seed;
  std::optional<std::string> dtype;
  std::optional<Json> optimizer;               ///< `name` and all hyperparameters, as in a manifest
  std::optional<Json> learning_rate_schedule;  ///< as in a manifest
  std::optional<Json> clip_norm;               ///< a number, or null: no clipping
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> first_step;                        ///< first step of the record; above 0 in resumed runs
  std::optional<std::vector<RequestedMicrobatch>> microbatches;  ///< of each step
  std::optional<std::int64_t> microbatch_count;                  ///< if their lengths are not requested
  std::optional<std::string> accumulation_digest;                ///< digest of the order file; empty: ascending
  std::optional<std::string> device, transport, level;
  std::optional<std::int64_t> threads;   ///< compute threads per rank
  std::optional<std::string> recompute;  ///< none | layer | attention | mlp
  std::optional<RequestedData> data;
  std::optional<std::optional<RequestedEvaluation>> evaluation;  ///< nullopt inside: no evaluation
};

/// XXH3-128 of a model configuration's canonical JSON (sorted keys, no blanks).
std::string model_digest(const Json& config);

Json to_json(const Request& request);

/// Throws InputError naming `where` and the key: unsupported schema, unknown key, wrong type.
Request request_from_json(const Json& json, const std::string& where);
Request read_request(const std::filesystem::path& file);

/// Keys that the request lacks, in the order of the schema.
std::vector<std::string> not_asked(const Request& request);

}  // namespace plumbline
