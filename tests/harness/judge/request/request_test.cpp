// SPDX-License-Identifier: BSD-3-Clause
#include "harness/judge/request/request.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "support/text.hpp"
#include "tests/approved.hpp"
#include "tests/changed_json.hpp"

namespace plumbline {
namespace {

/// Each key has a unique value.
const Json whole = Json::parse(R"({
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

TEST(RequestFile, ReadsEachKeyIntoItsField) {
  const Request request = request_from_json(whole, "x");

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
}

/// Changes to the request, and whether it is accepted, what it then does not request, and what is written otherwise.
TEST(RequestFile, ChangesAreAcceptedOrRefusedAsApproved) {
  testing::expect_answers("requests.txt", [](const std::string& changes) {
    const Json json = changes == "[]\n" ? Json::array() : testing::changed(whole, changes);
    try {
      const Request request = request_from_json(json, "request.json");
      const std::string absent = join(not_requested(request), ", ");
      std::string text = absent.empty() ? "accepted" : "accepted, without " + absent;
      if (to_json(request) != json) text += "\nwritten as " + to_json(request).dump();
      return text;
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  });
}

TEST(ModelDigest, DoesNotDependOnTheOrderOfKeysOrOnBlanks) {
  const Json one = Json::parse(R"({"b": 1, "a": {"y": 1e-05, "x": [1, 2]}})");
  const Json other = Json::parse(R"({ "a" : {"x": [1,2], "y": 0.00001}, "b": 1 })");

  EXPECT_EQ(model_digest(one), model_digest(other));
  EXPECT_NE(model_digest(one), model_digest(Json::parse(R"({"b": 2, "a": {"y": 1e-05, "x": [1, 2]}})")));
}

}  // namespace
}  // namespace plumbline
