// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/request/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "support/error.hpp"
#include "support/hash.hpp"
#include "support/json_text.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// The library's conversion truncates fractions and wraps around on overflow.
template <class Integer>
Integer whole(const Json& json) {
  const bool whole = json.is_number_integer();
  const bool fits = whole && (json.is_number_unsigned() ? std::in_range<Integer>(json.get<std::uint64_t>())
                                                        : std::in_range<Integer>(json.get<std::int64_t>()));
  if (!fits)
    throw InputError(fmt::format("{} is not an integer from {} to {}", json_text(json),
                                 std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max()));
  return json.get<Integer>();
}

std::vector<StageEntry> stages_from(const Json& json) {
  std::vector<StageEntry> stages;
  for (const Json& stage : json) {
    stages.push_back({whole<std::int64_t>(stage.at("stage")), whole<std::int64_t>(stage.at("rank")),
                      stage.at("units").get<std::vector<std::string>>()});
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

std::vector<RequestedMicrobatch> microbatches_from(const Json& json) {
  std::vector<RequestedMicrobatch> microbatches;
  for (const Json& microbatch : json) {
    microbatches.push_back({{}, microbatch.at("masked").get<bool>()});
    auto& lengths = microbatches.back().lengths;
    for (const Json& length : microbatch.at("lengths")) lengths.push_back(whole<std::int64_t>(length));
    if (lengths.empty() || std::ranges::min(lengths) < 1) {
      throw InputError(
          fmt::format("microbatch {} needs one length of at least 1 for each row", microbatches.size() - 1));
    }
  }
  return microbatches;
}

Json data_json(const RequestedData& data) {
  Json files = Json::array();
  for (std::size_t i = 0; i < data.files.size(); ++i) {
    files.push_back({{"path", data.files[i].generic_string()}, {"bytes", data.sizes.at(i)}});
  }
  Json json = {{"files", files}, {"format", data.format}, {"seed", data.seed}};
  if (data.shuffle != "none") json["shuffle"] = data.shuffle;
  return json;
}

RequestedData data_from(const Json& json) {
  RequestedData data;
  for (const Json& file : json.at("files")) {
    data.files.emplace_back(file.at("path").get<std::string>());
    data.sizes.push_back(whole<std::int64_t>(file.at("bytes")));
  }
  data.format = json.at("format").get<std::string>();
  if (data.format != "bytes" && data.format != "uint16" && data.format != "uint32") {
    throw InputError(fmt::format("format `{}` is unknown; give bytes, uint16 or uint32", data.format));
  }
  data.seed = whole<std::uint64_t>(json.at("seed"));
  data.shuffle = json.value("shuffle", data.shuffle);
  if (data.shuffle != "none" && data.shuffle != "windows") {
    throw InputError(fmt::format("shuffle `{}` is unknown; give none or windows", data.shuffle));
  }
  return data;
}

Json evaluation_json(const std::optional<RequestedEvaluation>& evaluation) {
  if (!evaluation) return nullptr;
  return {{"every", evaluation->every},
          {"microbatches", microbatches_json(evaluation->microbatches)},
          {"data", data_json(evaluation->data)}};
}

std::optional<RequestedEvaluation> evaluation_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return RequestedEvaluation{whole<std::int64_t>(json.at("every")), microbatches_from(json.at("microbatches")),
                             data_from(json.at("data"))};
}

template <class Value>
Json plain_json(const Value& value) {
  return value;
}

template <class Value>
Value plain_from(const Json& json) {
  if constexpr (std::is_integral_v<Value>)
    return whole<Value>(json);
  else
    return json.get<Value>();
}

Json object_from(const Json& json) {
  if (!json.is_object()) throw InputError("must be an object");
  return json;
}

Json limit_from(const Json& json) {
  if (!json.is_number() && !json.is_null()) throw InputError("must be a number or null");
  return json;
}

Json schedule_json(const RequestedSchedule& schedule) {
  Json json = {{"name", schedule.name}};
  if (schedule.chunks_per_rank) json["chunks_per_rank"] = *schedule.chunks_per_rank;
  if (schedule.digest) json["digest"] = *schedule.digest;
  return json;
}

RequestedSchedule schedule_from(const Json& json) {
  RequestedSchedule schedule{json.at("name").get<std::string>(), {}, {}};
  if (json.contains("chunks_per_rank")) schedule.chunks_per_rank = whole<std::int64_t>(json.at("chunks_per_rank"));
  if (json.contains("digest")) schedule.digest = json.at("digest").get<std::string>();
  return schedule;
}

/// One key of the schema: how it is written and read.
struct Field {
  template <class Value>
  Field(const char* name, std::optional<Value> Request::*member, Value (*from)(const Json&) = plain_from<Value>,
        Json (*to)(const Value&) = plain_json<Value>)
      : key(name),
        write([=](const Request& request) {
          return request.*member ? to(*(request.*member)) : Json(Json::value_t::discarded);
        }),
        read([=](Request& request, const Json& json) { request.*member = from(json); }) {}

  const char* key;
  std::function<Json(const Request&)> write;  ///< discarded: not requested
  std::function<void(Request&, const Json&)> read;
};

const std::vector<Field>& fields() {
  static const std::vector<Field> all = {
      {"role", &Request::role},
      {"world_size", &Request::world_size},
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
  Request request;
  for (const auto& [key, value] : json.items()) {
    if (key == "schema") continue;
    const auto field = std::ranges::find(fields(), key, [](const Field& each) { return std::string(each.key); });
    if (field == fields().end()) {
      std::vector<std::string> known;
      for (const Field& each : fields()) known.emplace_back(each.key);
      const auto nearest = nearest_word(key, known);
      throw InputError(fmt::format("{}: unknown key `{}`{}", where, key,
                                   nearest ? fmt::format("; did you mean `{}`?", *nearest) : ""));
    }
    try {
      field->read(request, value);
    } catch (const std::exception& error) {
      throw InputError(fmt::format("{}, key {}: {}", where, key, error.what()));
    }
  }
  return request;
}

Request read_request(const std::filesystem::path& file) {
  return request_from_json(read_json(file, most_by_hand), file.string());
}

std::vector<std::string> not_asked(const Request& request) {
  std::vector<std::string> keys;
  for (const Field& field : fields()) {
    const bool lengths_suffice = request.microbatches && std::string(field.key) == "microbatch_count";
    if (field.write(request).is_discarded() && !lengths_suffice) keys.emplace_back(field.key);
  }
  return keys;
}

}  // namespace plumbline
