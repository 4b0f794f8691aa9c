// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/request/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "record/json_keys.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"

namespace plumbline {
namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();

std::vector<StageEntry> stages_from(const JsonKeys& keys, const std::string& key) {
  std::vector<StageEntry> stages;
  for (const JsonKeys& stage : keys.objects(key)) {
    stage.refuse_unknown({"stage", "rank", "units"});
    stages.push_back({stage.integer("stage", least), stage.integer("rank", least), stage.texts("units")});
  }
  return stages;
}

Json microbatches_json(const std::vector<RequestedMicrobatch>& microbatches) {
  Json json = Json::array();
  for (const auto& microbatch : microbatches) {
    json.push_back({{"lengths", microbatch.lengths}, {"masked", microbatch.masked}});
  }
  return json;
}

std::vector<RequestedMicrobatch> microbatches_from(const JsonKeys& keys, const std::string& key) {
  std::vector<RequestedMicrobatch> microbatches;
  for (const JsonKeys& microbatch : keys.objects(key)) {
    microbatch.refuse_unknown({"lengths", "masked"});
    microbatches.push_back({microbatch.integers("lengths"), microbatch.flag("masked")});
    const auto& lengths = microbatches.back().lengths;
    if (lengths.empty() || std::ranges::min(lengths) < 1)
      microbatch.fail("lengths", "needs one length of at least 1 for each row");
  }
  return microbatches;
}

Json files_json(const std::vector<std::filesystem::path>& files, const std::vector<std::int64_t>& sizes) {
  Json json = Json::array();
  for (std::size_t i = 0; i < files.size(); ++i)
    json.push_back({{"path", files[i].generic_string()}, {"bytes", sizes.at(i)}});
  return json;
}

void files_from(const JsonKeys& keys, const std::string& key, std::vector<std::filesystem::path>& files,
                std::vector<std::int64_t>& sizes) {
  for (const JsonKeys& file : keys.objects(key)) {
    file.refuse_unknown({"path", "bytes"});
    files.emplace_back(file.text("path"));
    sizes.push_back(file.integer("bytes", least));
  }
}

Json data_json(const RequestedData& data) {
  Json json = {{"files", files_json(data.files, data.sizes)}, {"format", data.format}, {"seed", data.seed}};
  if (data.shuffle != "none") json["shuffle"] = data.shuffle;
  if (!data.ignore.empty()) json["ignore"] = files_json(data.ignore, data.ignore_sizes);
  return json;
}

RequestedData data_from(const JsonKeys& keys, const std::string& key) {
  const JsonKeys json = keys.object(key);
  json.refuse_unknown({"files", "format", "seed", "shuffle", "ignore"});
  RequestedData data;
  files_from(json, "files", data.files, data.sizes);
  if (json.has("ignore")) files_from(json, "ignore", data.ignore, data.ignore_sizes);
  data.format = json.word("format", {"bytes", "uint16", "uint32"});
  data.seed = json.unsigned_integer("seed");
  if (json.has("shuffle")) data.shuffle = json.word("shuffle", {"none", "windows"});
  return data;
}

Json evaluation_json(const std::optional<RequestedEvaluation>& evaluation) {
  if (!evaluation) return nullptr;
  return {{"every", evaluation->every},
          {"microbatches", microbatches_json(evaluation->microbatches)},
          {"data", data_json(evaluation->data)}};
}

std::optional<RequestedEvaluation> evaluation_from(const JsonKeys& keys, const std::string& key) {
  if (!keys.has_value(key)) return std::nullopt;
  const JsonKeys evaluation = keys.object(key);
  evaluation.refuse_unknown({"every", "microbatches", "data"});
  return RequestedEvaluation{evaluation.integer("every", least), microbatches_from(evaluation, "microbatches"),
                             data_from(evaluation, "data")};
}

template <class Value>
Json plain_json(const Value& value) {
  return value;
}

template <class Value>
Value plain_from(const JsonKeys& keys, const std::string& key) {
  if constexpr (std::is_same_v<Value, std::uint64_t>)
    return keys.unsigned_integer(key);
  else if constexpr (std::is_integral_v<Value>)
    return keys.integer(key, least);
  else
    return keys.text(key);
}

Json object_from(const JsonKeys& keys, const std::string& key) {
  keys.object(key);
  return keys.at(key);
}

Json limit_from(const JsonKeys& keys, const std::string& key) {
  if (!keys.at(key).is_number() && !keys.at(key).is_null()) keys.fail(key, "must be a number or null");
  return keys.at(key);
}

Json schedule_json(const RequestedSchedule& schedule) {
  Json json = {{"name", schedule.name}};
  if (schedule.chunks_per_rank) json["chunks_per_rank"] = *schedule.chunks_per_rank;
  if (schedule.digest) json["digest"] = *schedule.digest;
  return json;
}

RequestedSchedule schedule_from(const JsonKeys& keys, const std::string& key) {
  const JsonKeys json = keys.object(key);
  json.refuse_unknown({"name", "chunks_per_rank", "digest"});
  RequestedSchedule schedule{json.text("name"), {}, {}};
  if (json.has("chunks_per_rank")) schedule.chunks_per_rank = json.integer("chunks_per_rank", least);
  if (json.has("digest")) schedule.digest = json.text("digest");
  return schedule;
}

/// One key of the schema: how it is written and read.
struct Field {
  template <class Value>
  Field(const char* name, std::optional<Value> Request::*member,
        Value (*from)(const JsonKeys&, const std::string&) = plain_from<Value>,
        Json (*to)(const Value&) = plain_json<Value>)
      : key(name),
        write([=](const Request& request) {
          return request.*member ? to(*(request.*member)) : Json(Json::value_t::discarded);
        }),
        read([=](Request& request, const JsonKeys& keys) { request.*member = from(keys, name); }) {}

  const char* key;
  std::function<Json(const Request&)> write;  ///< discarded: not requested
  std::function<void(Request&, const JsonKeys&)> read;
};

const std::vector<Field>& fields() {
  static const std::vector<Field> all = {
      {"role", &Request::role},
      {"world_size", &Request::world_size},
      {"mesh", &Request::mesh, object_from},
      {"schedule", &Request::schedule, schedule_from, schedule_json},
      {"stages", &Request::stages, stages_from},
      {"model_digest", &Request::model_digest},
      {"seed", &Request::seed},
      {"dtype", &Request::dtype},
      {"optimizer", &Request::optimizer, object_from},
      {"learning_rate_schedule", &Request::learning_rate_schedule, object_from},
      {"clip_norm", &Request::clip_norm, limit_from},
      {"steps", &Request::steps},
      {"first_step", &Request::first_step},
      {"microbatches", &Request::microbatches, microbatches_from, microbatches_json},
      {"microbatch_count", &Request::microbatch_count},
      {"accumulation_digest", &Request::accumulation_digest},
      {"device", &Request::device},
      {"transport", &Request::transport},
      {"level", &Request::level},
      {"threads", &Request::threads},
      {"recompute", &Request::recompute},
      {"data", &Request::data, data_from, data_json},
      {"evaluation", &Request::evaluation, evaluation_from, evaluation_json},
  };
  return all;
}

}  // namespace

std::string model_digest(const Json& config) {
  return hash_hex(nlohmann::json(config).dump());  // nlohmann::json sorts its keys; ordered_json does not
}

Json to_json(const Request& request) {
  Json json{{"schema", request_schema}};
  for (const Field& field : fields()) {
    Json value = field.write(request);
    if (!value.is_discarded()) json[field.key] = std::move(value);
  }
  return json;
}

Request request_from_json(const Json& json, const std::string& where) {
  if (!json.is_object() || json.value("schema", Json()) != request_schema) {
    throw InputError(fmt::format("{}: is not a request of schema {}", where, request_schema));
  }
  const JsonKeys keys(where, json);
  std::vector<std::string> known = {"schema"};
  for (const Field& field : fields()) known.emplace_back(field.key);
  keys.refuse_unknown(known);
  Request request;
  for (const Field& field : fields())
    if (keys.has(field.key)) field.read(request, keys);
  return request;
}

Request read_request(const std::filesystem::path& file) {
  return request_from_json(read_json(file, most_by_hand), file.string());
}

std::vector<std::string> not_asked(const Request& request) {
  std::vector<std::string> keys;
  for (const Field& field : fields()) {
    const std::string key = field.key;
    const bool not_needed = (request.microbatches && key == "microbatch_count") || key == "mesh";  // of several places
    if (field.write(request).is_discarded() && !not_needed) keys.push_back(key);
  }
  return keys;
}

}  // namespace plumbline
