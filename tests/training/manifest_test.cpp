// SPDX-License-Identifier: BSD-3-Clause
#include "training/manifest.hpp"

#include <gmock/gmock.h>

#include "support/hash.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::TemporaryFolder;

RunFile a_run() {
  RunFile run;
  run.data.text = "fixtures/corpus";
  run.data.row_lengths = {{3}, {2}};
  run.train.steps = 4;
  run.train.seed = 9;
  run.train.optimizer.weight_decay = 0.25;
  run.train.optimizer.decay = "matrices";
  run.train.clip_norm = 1.5;
  run.train.warmup_steps = 2;
  run.train.start_factor = 0.25;
  return run;
}

LlamaConfig a_config(bool tied) {
  LlamaConfig config;
  config.tied = tied;
  config.source = {{"hidden_size", 64}, {"something_new", "kept"}};
  return config;
}

Json manifest_of(const RunFile& file, bool tied) {
  plumbline::Run run{file, a_config(tied), {file.data, Tokens(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 7, 8})}};
  run.id = new_run_id();
  return make_manifest("pipeline", {"program", "run.toml"}, run, 2, {"1f1b", 1, 2, "0F0,0B0\n", ""},
                       {{0, 0, {"embed_tokens", "layers.0"}}, {1, 1, {}}});
}

TEST(Manifest, DescribesTheRun) {
  const RunFile run = a_run();

  const Json manifest = manifest_of(run, false);

  EXPECT_EQ(manifest.at("schema"), "plumbline-record/2");
  EXPECT_EQ(manifest.at("role"), "pipeline");
  EXPECT_EQ(manifest.at("command"), Json({"program", "run.toml"}));
  EXPECT_EQ(manifest.at("model"), a_config(false).source);
  EXPECT_EQ(manifest.at("seed"), 9);
  EXPECT_EQ(manifest.at("world_size"), 2);
  EXPECT_EQ(manifest.at("steps"), 4);
  EXPECT_FALSE(manifest.at("data").contains("digest")) << "exit.json has the digest of the data that was used";
  EXPECT_EQ(manifest.at("data").at("source"), "fixtures/corpus");
  EXPECT_EQ(manifest.at("data").at("microbatches"), 2);
  EXPECT_EQ(manifest.at("schedule").at("digest"), hash_hex("0F0,0B0\n"));
  EXPECT_EQ(manifest.at("schedule").at("accumulation_digest"), nullptr);
  EXPECT_EQ(manifest.at("stages").at(0).at("units"), Json({"embed_tokens", "layers.0"}));
  EXPECT_EQ(manifest.at("stages").at(1), (Json{{"stage", 1}, {"rank", 1}, {"units", Json::array()}}));
  EXPECT_EQ(manifest.at("clip_norm"), 1.5);
  EXPECT_EQ(manifest.at("learning_rate_schedule"),
            (Json{{"warmup_steps", 2}, {"start_factor", 0.25}, {"final_factor", 0.0}, {"total_steps", 4}}));
  EXPECT_EQ(manifest.at("level"), "full");
  EXPECT_EQ(manifest.at("threads"), 1);
  EXPECT_EQ(manifest.at("recompute"), "none");
}

TEST(Manifest, HasNonDefaultSettings) {
  RunFile run = a_run();
  run.train.threads = 3;
  run.train.recompute = Recompute::layer;
  run.train.final_factor = 0.5;
  run.train.clip_norm.reset();

  const Json manifest = manifest_of(run, false);

  EXPECT_EQ(manifest.at("threads"), 3);
  EXPECT_EQ(manifest.at("recompute"), "layer");
  EXPECT_EQ(manifest.at("learning_rate_schedule").at("final_factor"), 0.5);
  EXPECT_EQ(manifest.at("clip_norm"), nullptr);
}

TEST(Manifest, HasTheEvaluationSettings) {
  RunFile run = a_run();
  EXPECT_FALSE(manifest_of(run, false).contains("evaluation"));
  run.validation = run.data;
  run.validation->text = "fixtures/other";
  run.validation->row_lengths = {{3}, {2}, {3}};
  run.evaluate.every = 7;

  EXPECT_EQ(manifest_of(run, false).at("evaluation"),
            (Json{{"every", 7}, {"microbatches", 3}, {"source", "fixtures/other"}}));
}

TEST(Manifest, HasPrecisionAndTransport) {
  RunFile run = a_run();
  run.train.dtype = "mixed";
  run.pipeline.transport = "threads";

  EXPECT_EQ(manifest_of(run, false).at("dtype"), "mixed");
  EXPECT_EQ(manifest_of(run, false).at("device"), "cpu");
  EXPECT_EQ(manifest_of(run, false).at("transport"), "threads");
}

TEST(Manifest, NamesTheTiedWeight) {
  EXPECT_EQ(manifest_of(a_run(), false).at("tied"), Json::array());
  EXPECT_EQ(manifest_of(a_run(), true).at("tied"),
            Json::array({Json::array({"lm_head.weight", "model.embed_tokens.weight"})}));
}

TEST(Manifest, ListsEachOptimizersOwnSettings) {
  RunFile run = a_run();
  EXPECT_EQ(manifest_of(run, false).at("optimizer"), (Json{{"name", "adamw"},
                                                           {"learning_rate", 1e-3},
                                                           {"beta1", 0.9},
                                                           {"beta2", 0.999},
                                                           {"eps", 1e-8},
                                                           {"weight_decay", 0.25},
                                                           {"decay", "matrices"}}));

  run.train.optimizer.use("sgd");
  run.train.optimizer.momentum = 0.9;
  run.train.clip_norm.reset();

  EXPECT_EQ(
      manifest_of(run, false).at("optimizer"),
      (Json{
          {"name", "sgd"}, {"learning_rate", 1e-3}, {"momentum", 0.9}, {"weight_decay", 0.25}, {"decay", "matrices"}}));
  EXPECT_EQ(manifest_of(run, false).at("clip_norm"), nullptr);
}

TEST(Manifest, IsReadBackByTheRecordsReader) {
  const TemporaryFolder folder;
  const Json written = manifest_of(a_run(), true);
  write_manifest(folder.path(), written);

  const Manifest read = read_manifest(folder.path());

  EXPECT_EQ(read.run_id, written.at("run_id").get<std::string>());
  EXPECT_EQ(read.steps, 4);
  EXPECT_EQ(read.microbatches, 2);
  EXPECT_EQ(read.schedule_name, "1f1b");
  EXPECT_EQ(read.clip_norm, 1.5);
  EXPECT_EQ(read.transport, "mpi");
  EXPECT_EQ(read.stages.size(), 2U);
  EXPECT_EQ(read.tied.size(), 1U);
  EXPECT_EQ(read.json.at("model").at("something_new"), "kept");
}

TEST(Manifest, HasAUniqueRunId) {
  EXPECT_NE(manifest_of(a_run(), false).at("run_id"), manifest_of(a_run(), false).at("run_id"));
}

}  // namespace
}  // namespace plumbline
