// SPDX-License-Identifier: BSD-3-Clause
#include "training/manifest.hpp"

#include <gtest/gtest.h>

#include "support/json_text.hpp"
#include "tests/approved.hpp"
#include "training/tokens.hpp"

namespace plumbline {
namespace {

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

/// Without what depends on the machine.
Json manifest_of(const RunFile& file, bool tied, const std::optional<ResumedFrom>& resumed_from = {}) {
  plumbline::Run run{file, {}, {file.data, Tokens(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 7, 8})}};
  run.config.tied = tied;
  run.config.source = {{"hidden_size", 64}, {"something_new", "kept"}};
  run.id = "RUN-ID";
  Json manifest = make_manifest("pipeline", {"program", "run.toml"}, run, 2, {"1f1b", 1, 2, "0F0,0B0\n", ""},
                                {{0, 0, {"embed_tokens", "layers.0"}}, {1, 1, {}}}, resumed_from);
  for (const char* key : {"versions", "machine", "environment", "started"}) EXPECT_EQ(manifest.erase(key), 1U) << key;
  return manifest;
}

// The first case is a whole manifest, the others what differs from it.
TEST(Manifest, DescribesTheRun) {
  const std::map<std::string, std::function<Json()>> manifests = {
      {"plain", [] { return manifest_of(a_run(), false); }},
      {"tied", [] { return manifest_of(a_run(), true); }},
      {"sgd",
       [] {
         RunFile run = a_run();
         run.train.optimizer.use("sgd");
         run.train.optimizer.momentum = 0.9;
         run.train.clip_norm.reset();
         return manifest_of(run, false);
       }},
      {"settings",
       [] {
         RunFile run = a_run();
         run.train.threads = 3;
         run.train.recompute = Recompute::layer;
         run.train.final_factor = 0.5;
         run.train.curve = "wsd";
         run.train.decay_steps = 2;
         run.train.dtype = "mixed";
         run.pipeline.transport = "threads";
         return manifest_of(run, false);
       }},
      {"evaluation",
       [] {
         RunFile run = a_run();
         run.validation = run.data;
         run.validation->text = "fixtures/other";
         run.validation->row_lengths = {{3}, {2}, {3}};
         run.evaluate.every = 7;
         return manifest_of(run, false);
       }},
      {"resumed", [] { return manifest_of(a_run(), false, ResumedFrom{.run_id = "FIRST", .step = 3}); }}};
  testing::expect_answers("run-manifests.txt", [&](const std::string& input) {
    const std::string name = input.substr(0, input.size() - 1);
    const Json manifest = manifests.at(name)();
    if (name == "plain") return json_text(manifest, 2);
    const Json difference = Json::diff(manifests.at("plain")(), manifest);
    std::string lines;
    for (const Json& each : difference)
      lines += (lines.empty() ? "" : "\n") + each.at("op").get<std::string>() + " " +
               each.at("path").get<std::string>() + " " + each.value("value", Json("")).dump();
    return lines;
  });
}

TEST(Manifest, IsReadBackByTheRecordsReader) {
  const testing::TemporaryFolder folder;
  Json written = manifest_of(a_run(), true);
  for (const char* key : {"versions", "machine", "environment"}) written[key] = Json::object();
  written["run_id"] = new_run_id();
  written["started"] = now_text();
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

}  // namespace
}  // namespace plumbline
