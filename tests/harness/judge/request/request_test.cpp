// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/request/request.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;

Request whole() {
  Request request;
  request.role = "pipeline";
  request.world_size = 2;
  request.schedule = RequestedSchedule{"1f1b", 1, "d"};
  request.stages = {{0, 0, {"embed_tokens"}}, {1, 1, {"layers.0", "norm", "lm_head"}}};
  request.model_digest = "m";
  request.mesh = Json{{"dp", 2}};
  request.seed = 18446744073709551615ULL;
  request.dtype = "float32";
  request.optimizer = Json{{"name", "sgd"}, {"learning_rate", 0.1}};
  request.learning_rate_schedule = Json{{"steps", 5}};
  request.clip_norm = Json(nullptr);
  request.steps = 5;
  request.first_step = 3;
  request.mesh = Json{{"dp", 2}};
  request.microbatches = {{{4, 2}, false}, {{1, 1}, true}};
  request.accumulation_digest = "";
  request.device = "cpu";
  request.transport = "mpi";
  request.level = "full";
  request.threads = 2;
  request.recompute = "layer";
  request.data = RequestedData{{"/a.bin", "/b.bin"}, {4, 6}, "uint32", 9, "windows", {"/i.bin"}, {5}};
  request.evaluation.emplace(RequestedEvaluation{2, {{{4, 2}, false}}, {{"/c.bin"}, {8}, "uint32", 9, "none"}});
  return request;
}

std::string refusal(const Json& json) {
  try {
    request_from_json(json, "request.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(RequestFile, RoundTrips) {
  const Json written = to_json(whole());

  EXPECT_EQ(to_json(request_from_json(written, "x")), written);
  EXPECT_EQ(written.at("data").at("files").at(1).at("bytes"), 6);
  EXPECT_THAT(not_requested(whole()), ::testing::IsEmpty());
}

/// Also compares what the reader does not read back.
TEST(RequestFile, WritesTheKeysOfItsPage) {
  const Json written = to_json(whole());

  EXPECT_EQ(written.at("schedule"), Json::parse(R"({"name": "1f1b", "chunks_per_rank": 1, "digest": "d"})"));
  EXPECT_EQ(written.at("microbatches"),
            Json::parse(R"([{"lengths": [4, 2], "masked": false}, {"lengths": [1, 1], "masked": true}])"));
  EXPECT_EQ(written.at("data").at("shuffle"), "windows");
  EXPECT_EQ(written.at("data").at("ignore"), Json::parse(R"([{"path": "/i.bin", "bytes": 5}])"));
  EXPECT_FALSE(written.at("evaluation").at("data").contains("shuffle")) << "absent, since none is the default";
  EXPECT_TRUE(written.at("clip_norm").is_null());

  Request request = whole();
  request.schedule = RequestedSchedule{"1f1b", {}, {}};
  request.clip_norm = Json(0.5);
  EXPECT_EQ(to_json(request).at("schedule"), Json::parse(R"({"name": "1f1b"})"));
  const Request read = request_from_json(to_json(request), "x");
  EXPECT_FALSE(read.schedule->chunks_per_rank);
  EXPECT_FALSE(read.schedule->digest);
  EXPECT_EQ(*read.clip_norm, Json(0.5));
}

/// Gives each key a unique value, as in the page's text; reading and writing must keep it.
TEST(RequestFile, EachKeyIsIndependent) {
  const Json text = Json::parse(R"({
    "schema": "plumbline-request/1", "role": "pipeline", "world_size": 2,
    "schedule": {"name": "zb-v", "chunks_per_rank": 3, "digest": "of the schedule"},
    "stages": [{"stage": 0, "rank": 1, "units": ["embed_tokens"]}, {"stage": 1, "rank": 0, "units": ["norm", "lm_head"]}],
    "model_digest": "of the model", "seed": 18446744073709551615, "dtype": "float32",
    "optimizer": {"name": "sgd"}, "learning_rate_schedule": {"total_steps": 5}, "clip_norm": 0.5, "steps": 6,
    "first_step": 4, "microbatches": [{"lengths": [9, 8], "masked": true}], "microbatch_count": 7,
    "accumulation_digest": "of the order", "device": "cuda", "transport": "nccl", "level": "dump", "threads": 10,
    "recompute": "layer",
    "data": {"files": [{"path": "/a.bin", "bytes": 11}], "format": "uint32", "seed": 12345678901, "shuffle": "windows"},
    "evaluation": {"every": 12, "microbatches": [{"lengths": [1], "masked": false}],
                   "data": {"files": [{"path": "/b.bin", "bytes": 13}], "format": "uint16", "seed": 14}}})");

  const Request request = request_from_json(text, "x");

  EXPECT_EQ(request.role, "pipeline");
  EXPECT_EQ(request.world_size, 2);
  EXPECT_EQ(request.schedule->name, "zb-v");
  EXPECT_EQ(request.schedule->chunks_per_rank, 3);
  EXPECT_EQ(request.schedule->digest, "of the schedule");
  ASSERT_EQ(request.stages->size(), 2U);
  EXPECT_EQ(request.stages->at(0).stage, 0);
  EXPECT_EQ(request.stages->at(0).rank, 1);
  EXPECT_EQ(request.model_digest, "of the model");
  EXPECT_EQ(request.seed, 18446744073709551615ULL);
  EXPECT_EQ(request.dtype, "float32");
  EXPECT_EQ(request.steps, 6);
  EXPECT_EQ(request.first_step, 4);
  EXPECT_EQ(request.microbatches->at(0).lengths, (std::vector<std::int64_t>{9, 8}));
  EXPECT_TRUE(request.microbatches->at(0).masked);
  EXPECT_EQ(request.microbatch_count, 7);
  EXPECT_EQ(request.accumulation_digest, "of the order");
  EXPECT_EQ(request.device, "cuda");
  EXPECT_EQ(request.transport, "nccl");
  EXPECT_EQ(request.level, "dump");
  EXPECT_EQ(request.threads, 10);
  EXPECT_EQ(request.recompute, "layer");
  EXPECT_EQ(request.data->files.at(0), "/a.bin");
  EXPECT_EQ(request.data->sizes.at(0), 11);
  EXPECT_EQ(request.data->format, "uint32");
  EXPECT_EQ(request.data->seed, 12345678901U);
  EXPECT_EQ(request.data->shuffle, "windows");
  EXPECT_EQ((*request.evaluation)->every, 12);
  EXPECT_EQ((*request.evaluation)->data.seed, 14U);
  EXPECT_EQ((*request.evaluation)->data.shuffle, "none");
  EXPECT_EQ(to_json(request), text);
}

TEST(RequestFile, RequestsMicrobatchesByLengthsOrCount) {
  Request request = whole();
  request.microbatches.reset();
  EXPECT_THAT(not_requested(request), ::testing::ElementsAre("microbatches", "microbatch_count"));
  request.microbatch_count = 2;
  EXPECT_THAT(not_requested(request), ::testing::ElementsAre("microbatches"));
}

TEST(RequestFile, NullRequestsNoEvaluation) {
  Request request = whole();
  request.evaluation.emplace();
  const Json written = to_json(request);
  EXPECT_TRUE(written.at("evaluation").is_null());
  const Request read = request_from_json(written, "x");
  ASSERT_TRUE(read.evaluation);
  EXPECT_FALSE(*read.evaluation);
  EXPECT_THAT(not_requested(read), ::testing::IsEmpty());

  const Request evaluates = request_from_json(to_json(whole()), "x");
  EXPECT_EQ((*evaluates.evaluation)->data.files.front(), "/c.bin");
}

TEST(RequestFile, NamesAbsentKeysAsNotRequested) {
  Json json = to_json(whole());
  json.erase("clip_norm");
  json.erase("stages");

  const Request request = request_from_json(json, "x");

  EXPECT_FALSE(request.clip_norm);
  EXPECT_THAT(not_requested(request), ::testing::ElementsAre("stages", "clip_norm"));
}

TEST(RequestFile, NamesTheKeyOfBadInput) {
  const auto with = [](const char* key, const Json& value) {
    Json json = to_json(whole());
    json[key] = value;
    return refusal(json);
  };
  EXPECT_THAT(refusal(Json::array()), HasSubstr("not a request of schema plumbline-request/1"));
  EXPECT_THAT(with("schema", "plumbline-request/2"), HasSubstr("not a request of schema"));
  EXPECT_THAT(with("world", 3), HasSubstr("key world: is not known"));
  EXPECT_THAT(with("stepz", 3), HasSubstr("did you mean steps?"));
  EXPECT_THAT(with("steps", "five"), HasSubstr("request.json: key steps: must be an integer"));
  EXPECT_THAT(with("optimizer", 3), HasSubstr("key optimizer: must be a JSON object"));
  EXPECT_THAT(with("optimizer", Json::array()), HasSubstr("key optimizer: must be a JSON object"));
  EXPECT_THAT(with("microbatches", Json::parse(R"([{"lengths": [3, 0], "masked": false}])")), HasSubstr("at least 1"));
  EXPECT_THAT(with("microbatches", Json::parse(R"([{"lengths": [0, 3], "masked": false}])")), HasSubstr("at least 1"));
  EXPECT_EQ(with("microbatches", Json::parse(R"([{"lengths": [1], "masked": false}])")), "accepted");
  EXPECT_THAT(with("microbatches", Json::parse(R"([{"lengths": [1.5], "masked": false}])")),
              HasSubstr("key microbatches[0].lengths: must be a list of integers"));
  EXPECT_THAT(with("clip_norm", "no"), HasSubstr("key clip_norm: must be a number or null"));
  EXPECT_THAT(with("schedule", Json::object()), HasSubstr("key schedule.name: is missing"));
  EXPECT_THAT(with("data", 3), HasSubstr("request.json: key data: must be a JSON object"));
  EXPECT_THAT(with("stages", "x"), HasSubstr("request.json: key stages: must be a list of objects"));
  EXPECT_THAT(with("microbatches", Json::array({3})), HasSubstr("key microbatches[0]: must be a JSON object"));
  EXPECT_THAT(with("evaluation", Json::parse(R"({"every": "x"})")),
              HasSubstr("key evaluation.every: must be an integer"));
  EXPECT_THAT(with("schedule", Json::parse(R"({"name": "x", "chunks": 2})")),
              HasSubstr("key schedule.chunks: is not known"));
  EXPECT_THAT(with("seed", -1), HasSubstr("key seed: must be an integer"));
  EXPECT_THAT(with("microbatches", Json::parse(R"([{"lengths": [0], "masked": false}])")), HasSubstr("at least 1"));
  EXPECT_THAT(
      with("microbatches", Json::parse(R"([{"lengths": [1], "masked": false}, {"lengths": [], "masked": true}])")),
      HasSubstr("key microbatches[1].lengths: needs"));
  EXPECT_EQ(with("data", Json::parse(R"({"files": [], "format": "uint16", "seed": 1})")), "accepted");
  EXPECT_THAT(with("data", Json::parse(R"({"files": [], "format": "words", "seed": 1})")),
              HasSubstr("key data.format: 'words' is not known"));
  EXPECT_THAT(with("data", Json::parse(R"({"files": [], "format": "bytes", "seed": 1, "shuffle": "rows"})")),
              HasSubstr("key data.shuffle: 'rows' is not known"));
}

TEST(ModelDigest, DoesNotDependOnTheOrderOfKeysOrOnBlanks) {
  const Json one = Json::parse(R"({"b": 1, "a": {"y": 1e-05, "x": [1, 2]}})");
  const Json other = Json::parse(R"({ "a" : {"x": [1,2], "y": 0.00001}, "b": 1 })");

  EXPECT_EQ(model_digest(one), model_digest(other));
  EXPECT_NE(model_digest(one), model_digest(Json::parse(R"({"b": 2, "a": {"y": 1e-05, "x": [1, 2]}})")));
}

}  // namespace
}  // namespace plumbline
