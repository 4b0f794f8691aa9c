// SPDX-License-Identifier: BSD-3-Clause
#include "record/manifest.hpp"

#include <gmock/gmock.h>

#include "record/not_recorded.hpp"
#include "record/required_tables.hpp"
#include "support/error.hpp"
#include "tests/approved.hpp"
#include "tests/changed_json.hpp"
#include "tests/record/sample.hpp"

namespace plumbline {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Manifest parse(const Json& json) {
  return parse_manifest("manifest.json", json);
}

std::string manifest_answer(const Json& json) {
  try {
    parse(json);
    return "accepted";
  } catch (const InputError& error) {
    return error.what();
  }
}

Manifest parse_changed(const std::string& changes) {
  return parse(changed(sample_manifest(), changes));
}

TEST(Manifest, ChangesAreAcceptedOrRefusedAsApproved) {
  expect_answers("manifests.txt",
                 [](const std::string& input) { return manifest_answer(changed(sample_manifest(), input)); });
}

TEST(Manifest, ReadsEveryKey) {
  const Manifest manifest = parse(sample_manifest());
  EXPECT_EQ(manifest.run_id, "a-run");
  EXPECT_EQ(manifest.role, "pipeline");
  EXPECT_EQ(manifest.dtype, "float32");
  EXPECT_EQ(manifest.device, "cpu");
  EXPECT_EQ(manifest.transport, "") << "optional";
  EXPECT_EQ(manifest.seed, 1);
  EXPECT_EQ(manifest.world_size, 3);
  EXPECT_EQ(manifest.steps, 2);
  EXPECT_EQ(manifest.microbatches, 1);
  EXPECT_EQ(manifest.schedule_name, "afab");
  EXPECT_EQ(manifest.accumulation, "ascending");
  EXPECT_EQ(manifest.accumulation_digest, "");
  ASSERT_EQ(manifest.stages.size(), 3u);
  EXPECT_THAT(manifest.stages[0].units, ElementsAre("embed_tokens", "layers.0"));
  EXPECT_EQ(manifest.stages[2].rank, 2);
  EXPECT_THAT(manifest.tied, ElementsAre(ElementsAre("lm_head.weight", "model.embed_tokens.weight")));
  EXPECT_EQ(manifest.clip_norm, 1.0);
  EXPECT_EQ(manifest.level, RecordLevel::full);
  EXPECT_EQ(manifest.first_step, 0);
  EXPECT_THAT(manifest.not_recorded, IsEmpty());
  EXPECT_EQ(manifest.json["note"], "kept") << "an unknown key is kept";
}

TEST(Manifest, OptionalKeysHaveTheirDefaults) {
  const Manifest manifest =
      parse_changed("/command\n/versions\n/clock_skew_ns\n/schedule/accumulation_digest\n/clip_norm null");
  EXPECT_TRUE(manifest.frozen.empty());
  EXPECT_EQ(manifest.loss_scaling, "before");
  EXPECT_EQ(manifest.boundary_gradient_factor, 1);
  EXPECT_FALSE(manifest.clip_norm);
  EXPECT_EQ(manifest.version_of("torch"), "");
}

TEST(Manifest, OptionalKeysAreRead) {
  const Manifest manifest = parse_changed(R"(/role "external"
/frozen ["model.norm.weight"]
/loss_scaling "after"
/transport "threads"
/evaluation {"every": 2, "microbatches": 3, "source": "held out"}
/norm_order "per_rank"
/clip_epsilon 1e-6
/norms_from {"run_id": "two", "rank": 0, "digest": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}
/first_step 1
/resumed_from {"run_id": "the one before", "step": 1}
/schedule/digest null
/schedule/accumulation "listed"
/schedule/accumulation_digest "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
/tied [["a", "b"], ["c", "d", "e"]]
/not_recorded [{"what": "receives", "why": "torch hides it"}]
/learning_rate_schedule {"warmup_steps": 1, "start_factor": 0.25, "final_factor": 0.125, "total_steps": 9, "curve": "wsd", "decay_steps": 8})");
  EXPECT_THAT(manifest.frozen, ElementsAre("model.norm.weight"));
  EXPECT_EQ(manifest.loss_scaling, "after");
  EXPECT_EQ(manifest.transport, "threads");
  EXPECT_EQ(manifest.evaluation.value().microbatches, 3);
  EXPECT_EQ(manifest.norm_order, "per_rank");
  EXPECT_EQ(manifest.clip_epsilon, 1e-6);
  EXPECT_EQ(manifest.norms_from->digest, std::string(32, 'a'));
  EXPECT_EQ(manifest.first_step, 1);
  EXPECT_EQ(manifest.resumed_from->run_id, "the one before");
  EXPECT_EQ(manifest.schedule_digest, "");
  EXPECT_EQ(manifest.accumulation_digest, std::string(32, 'b'));
  EXPECT_THAT(manifest.tied, ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d", "e")));
  EXPECT_THAT(manifest.not_recorded, ElementsAre(NotRecorded{"receives", "torch hides it"}));
  const auto schedule = manifest.learning_rate_schedule.value();
  EXPECT_EQ(schedule.warmup_steps, 1);
  EXPECT_EQ(schedule.start_factor, 0.25);
  EXPECT_EQ(schedule.final_factor, 0.125);
  EXPECT_EQ(schedule.total_steps, 9);
  EXPECT_EQ(schedule.decay_steps, 8);
  EXPECT_EQ(parse(sample_manifest()).learning_rate_schedule->curve, "cosine");
}

TEST(Manifest, NamesAMissingRequiredKey) {
  struct Case {
    const char *parent, *prefix;
    std::vector<const char*> keys;
  };
  for (const auto& [parent, prefix, keys] :
       {Case{"",
             "",
             {"schema", "run_id", "role", "model", "seed", "dtype", "device", "world_size", "steps", "data", "schedule",
              "stages", "tied", "optimizer", "clip_norm", "level", "started"}},
        Case{"/data", "data.", {"source", "microbatches"}},
        Case{"/schedule", "schedule.", {"name", "chunks_per_rank", "microbatches", "digest", "accumulation"}},
        Case{"/stages/1", "stages[1].", {"stage", "rank", "units"}},
        Case{"/optimizer", "optimizer.", {"name", "learning_rate", "beta1", "beta2", "eps", "weight_decay"}}})
    for (const char* key : keys)
      EXPECT_EQ(manifest_answer(changed(sample_manifest(), std::string(parent) + "/" + key)),
                std::string("manifest.json: key ") + prefix + key + ": is missing");
  EXPECT_EQ(manifest_answer(Json::array()), "manifest.json: must be a JSON object");
}

TEST(Manifest, EvaluatesAfterEachIntervalAndTheLastStep) {
  Manifest manifest;
  manifest.steps = 7;
  const auto evaluated = [&] {
    std::vector<std::int64_t> steps;
    for (std::int64_t step = 0; step < manifest.steps; ++step)
      if (manifest.evaluates_after(step)) steps.push_back(step);
    return steps;
  };
  EXPECT_THAT(evaluated(), IsEmpty());
  manifest.evaluation = EvaluationPlan{3, 1};
  EXPECT_THAT(evaluated(), ElementsAre(2, 5, 6));
  manifest.evaluation = EvaluationPlan{0, 1};
  EXPECT_THAT(evaluated(), ElementsAre(6));
}

TEST(Manifest, FirstUnitSkipsEmptyStages) {
  Manifest manifest;
  manifest.stages = {{0, 0, {}}};
  EXPECT_EQ(first_unit(manifest), "");
  manifest.stages = {{0, 0, {}}, {1, 1, {"b", "c"}}, {2, 2, {"d"}}};
  EXPECT_EQ(first_unit(manifest), "b");
}

TEST(Manifest, AcceptsEveryKindOfRowsAsNotRecorded) {
  for (const auto& kind : kinds_of_rows()) {
    const Manifest manifest =
        parse_changed("/role \"external\"\n/not_recorded [{\"what\": \"" + kind + "\", \"why\": \"\"}]");
    EXPECT_TRUE(lists_any(manifest.not_recorded, {"waits", kind}));
    EXPECT_EQ(lists_any(manifest.not_recorded, {"waits"}), kind == "waits");
    const bool crossings = kind == "sends" || kind == "receives" || kind == "boundaries";
    EXPECT_EQ(demand_of("boundaries.csv", manifest, 0), crossings ? Demand::header : Demand::rows) << kind;
  }
}

TEST(Manifest, UsesATorchVersionOnlyIfItLooksLikeOne) {
  for (const auto& [version, used] : {std::pair{R"("2.16.0+cu130")", "2.16.0+cu130"}, {R"("<script>")", ""}, {"2", ""}})
    EXPECT_EQ(parse_changed(std::string("/versions {\"torch\": ") + version + "}").version_of("torch"), used);
}

TEST(Conventions, OurTrainersAreExactAndNothingIsOptional) {
  Manifest manifest;
  for (const char* role : {"external", "reference", "pipeline"}) {
    manifest.set_role(role);
    const bool own = !manifest.external();
    const Conventions& said = manifest.conventions;
    EXPECT_EQ(own, std::string(role) != "external");
    EXPECT_EQ(said.optional.empty(), own) << role;
    EXPECT_EQ(said.python_recorder, !own) << role;
    for (const bool exact : {said.exact_formulas, said.exact_bytes, said.generated_lists, said.config_of_a_llama})
      EXPECT_EQ(exact, own) << role;
  }
}

TEST(ReadManifest, NamesAFolderWithoutAManifestAndTheLineOfBrokenJson) {
  const TemporaryFolder folder;
  EXPECT_THAT(error_of<InputError>([&] { read_manifest(folder.path()); }), HasSubstr("not a run record"));
  folder.file("manifest.json", "{\n  \"schema\": \"plumbline-");
  EXPECT_THAT(error_of<InputError>([&] { read_manifest(folder.path()); }), HasSubstr("manifest.json:2:"));
}

}  // namespace
}  // namespace plumbline
