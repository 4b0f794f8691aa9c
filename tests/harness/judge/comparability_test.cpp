// SPDX-License-Identifier: BSD-3-Clause
// The keys that must agree in two manifests of the same training, one by one.
#include "harness/judge/comparability.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/harness/judge/manifests.hpp"
#include "tests/record/mesh_json.hpp"

namespace plumbline::testing {
namespace {

using namespace judging;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Said by one manifest, and in which words both differ.
struct SaidByOne {
  const char* name;
  Json patch;
  std::string what, plain, other;
};

void PrintTo(const SaidByOne& said, std::ostream* out) {
  *out << said.name;
}
class OneSideSays : public ::testing::TestWithParam<SaidByOne> {};

TEST_P(OneSideSays, IsReportedWithBothValues) {
  const auto& [name, patch, what, plain, other] = GetParam();

  EXPECT_THAT(why_not_comparable(reference_manifest(), candidate_manifest(patch)),
              ElementsAre(what + " is " + plain + " in the reference and " + other + " in the candidate"));
  EXPECT_THAT(why_not_comparable(reference_manifest(patch), candidate_manifest()),
              ElementsAre(what + " is " + other + " in the reference and " + plain + " in the candidate"));
}

Json with_model(const Json& patch) {
  return {{"model", patch}};
}
Json with_optimizer(const Json& patch) {
  return {{"optimizer", patch}};
}
Json with_rates(const Json& patch) {
  return {{"learning_rate_schedule", patch}};
}
/// As the words show the parameters of RoPE.
std::string rope_words(const std::string& factor, const std::string& theta, const std::string& type) {
  return R"({"rope_theta":)" + theta + R"(,"rope_type":")" + type + R"(","factor":)" + factor +
         R"(,"low_freq_factor":null,"high_freq_factor":null,"original_max_position_embeddings":null})";
}

INSTANTIATE_TEST_SUITE_P(
    Model, OneSideSays,
    ::testing::ValuesIn(std::vector<SaidByOne>{
        {"vocabulary", with_model({{"vocab_size", 9}}), "model: vocab_size", "8", "9"},
        {"hidden", with_model({{"hidden_size", 6}}), "model: hidden_size", "4", "6"},
        {"intermediate", with_model({{"intermediate_size", 7}}), "model: intermediate_size", "6", "7"},
        {"layers", with_model({{"num_hidden_layers", 1}}), "model: num_hidden_layers", "2", "1"},
        {"heads", with_model({{"num_attention_heads", 4}}), "model: num_attention_heads", "2", "4"},
        {"kv_heads", with_model({{"num_key_value_heads", 2}}), "model: num_key_value_heads", "1", "2"},
        {"head_dim", with_model({{"head_dim", 4}}), "model: head_dim", "2", "4"},
        {"tied", with_model({{"tie_word_embeddings", false}}), "model: tie_word_embeddings", "1", "0"},
        {"attention_bias", with_model({{"attention_bias", true}}), "model: attention_bias", "0", "1"},
        {"mlp_bias", with_model({{"mlp_bias", true}}), "model: mlp_bias", "0", "1"},
        {"eps", with_model({{"rms_norm_eps", nullptr}}), "model: rms_norm_eps", "1e-05", "1e-06"},
        {"act", with_model({{"hidden_act", "gelu"}}), "model: hidden_act", "\"silu\"", "\"gelu\""},
        {"rope_theta", with_model({{"rope_theta", 5000.5}}), "model: RoPE", rope_words("null", "10000.0", "default"),
         rope_words("null", "5000.5", "default")},
        {"rope_type", with_model({{"rope_scaling", {{"type", "linear"}, {"factor", 2.5}}}}), "model: RoPE",
         rope_words("null", "10000.0", "default"), rope_words("2.5", "10000.0", "linear")}}),
    [](const auto& tested) { return tested.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Hyperparameters, OneSideSays,
    ::testing::ValuesIn(std::vector<SaidByOne>{
        {"learning_rate", with_optimizer({{"learning_rate", 0.002}}), "optimizer: learning_rate", "0.001", "0.002"},
        {"weight_decay", with_optimizer({{"weight_decay", 0.2}}), "optimizer: weight_decay", "0.1", "0.2"},
        {"decay", with_optimizer({{"decay", "matrices"}}), "optimizer: decay", "\"all\"", "\"matrices\""},
        {"beta1", with_optimizer({{"beta1", 0.8}}), "optimizer: beta1", "0.9", "0.8"},
        {"beta2", with_optimizer({{"beta2", 0.999}}), "optimizer: beta2", "0.99", "0.999"},
        {"eps", with_optimizer({{"eps", 0.5}}), "optimizer: eps", "1e-08", "0.5"},
        {"clip_norm", {{"clip_norm", 2.5}}, "clip_norm", "1", "2.5"},
        {"dtype", {{"dtype", "float64"}}, "dtype", "float32", "float64"},
        {"frozen", {{"frozen", {"model.norm.weight"}}}, "frozen parameters", "[]", "[\"model.norm.weight\"]"},
        {"granularity", Json::parse(R"({"world_size": 1, "schedule": {"chunks_per_rank": 1}, "stages": [
                      {"stage": 0, "rank": 0, "units": ["embed_tokens", "layers.0.attention", "layers.0.mlp",
                                                        "layers.1.attention", "layers.1.mlp", "norm", "lm_head"]}]})"),
         "pipeline.granularity", "layer", "half"},
        {"steps", {{"steps", 3}}, "steps", "2", "3"},
        {"every", of_external({{"every", 4}}), "every", "1", "4"},
        {"microbatches",
         {{"data", {{"microbatches", 4}}}, {"schedule", {{"microbatches", 4}}}},
         "microbatches a step",
         "5",
         "4"},
        {"order", of_external({{"schedule", {{"accumulation", "descending"}}}}), "order of accumulation", "ascending",
         "descending"},
        {"warmup", with_rates({{"warmup_steps", 0}}), "learning rate schedule: warmup_steps", "1", "0"},
        {"start_factor", with_rates({{"start_factor", 0.25}}), "learning rate schedule: start_factor", "0.5", "0.25"},
        {"final_factor", with_rates({{"final_factor", 0.25}}), "learning rate schedule: final_factor", "0", "0.25"},
        {"total_steps", with_rates({{"total_steps", 3}}), "learning rate schedule: total_steps", "2", "3"},
        {"recompute", {{"recompute", "layer"}}, "recompute", "none", "layer"}}),
    [](const auto& tested) { return tested.param.name; });

TEST(Comparability, EveryOtherKeyOfALlamaIsCompared) {
  struct Case {
    Json patch;
    const char* differs;  ///< key, the reference's value and the candidate's; empty if nothing differs
  };
  for (const auto& [patch, differs] :
       {Case{{{"attention_dropout", 0.1}}, "attention_dropout is 0 in the reference and 0.1"},
        Case{{{"attention_dropout", 0.0}}, ""},
        Case{{{"initializer_range", 0.02}}, ""},
        Case{{{"initializer_range", 0.01}}, "initializer_range is 0.02 in the reference and 0.01"},
        Case{{{"sliding_window", 4096}}, "sliding_window is null in the reference and 4096"},
        Case{{{"sliding_window", nullptr}}, ""},
        Case{{{"layer_types", {"full_attention", "full_attention"}}}, ""},
        Case{{{"layer_types", {"sliding_attention"}}},
             "layer_types is \"all full_attention\" in the reference and [\"sliding_attention\"]"},
        Case{{{"embedding_multiplier", 12.0}}, "embedding_multiplier is 1 in the reference and 12.0"},
        Case{{{"embedding_multiplier", 1.0}}, ""},
        Case{{{"logits_scaling", 8}}, "logits_scaling is 1 in the reference and 8"},
        Case{{{"final_logit_softcapping", 30.0}}, "final_logit_softcapping is null in the reference and 30.0"},
        Case{{{"attn_logit_softcapping", nullptr}}, ""},
        Case{{{"use_qk_norm", true}}, "use_qk_norm is false in the reference and true"},
        Case{{{"an_unknown_key", 2}}, "an_unknown_key is null in the reference and 2"},
        Case{{{"Logits_Scaling", 1}}, "Logits_Scaling is null in the reference and 1"},
        Case{{{"rope_scaling", {{"type", "default"}, {"beta_fast", 32}}}},
             "RoPE's beta_fast is null in the reference and 32"},
        Case{{{"rope_scaling", {{"type", "default"}, {"partial_rotary_factor", 1.0}}}}, ""},
        Case{{{"rope_scaling", {{"type", "default"}, {"partial_rotary_factor", 0.5}}}},
             "RoPE's partial_rotary_factor is 1 in the reference and 0.5"},
        Case{{{"torch_dtype", "bfloat16"}, {"use_cache", false}, {"_name_or_path", "x"}, {"id2label", {{"0", "x"}}}},
             ""},
        Case{{{"max_position_embeddings", 16}, {"model_type", "granite"}}, ""}}) {
    const auto words = why_not_comparable(reference_manifest(), candidate_manifest(with_model(patch)));
    const std::string expected = std::string("model: ") + differs + " in the candidate";
    EXPECT_THAT(words, ElementsAreArray(*differs ? std::vector{expected} : std::vector<std::string>{})) << patch;
    EXPECT_EQ(why_not_comparable(reference_manifest(with_model(patch)), candidate_manifest()).size(), words.size())
        << patch;
  }
  const auto both = [](const char* key, const Json& one, const Json& other) {
    return why_not_comparable(reference_manifest(with_model({{key, one}})),
                              candidate_manifest(with_model({{key, other}})));
  };
  EXPECT_THAT(both("embedding_multiplier", 2.0, 12.0),
              ElementsAre("model: embedding_multiplier is 2.0 in the reference and 12.0 in the candidate"));
  EXPECT_THAT(both("embedding_multiplier", 12.0, 12), IsEmpty());
  EXPECT_THAT(both("max_position_embeddings", 16, 32), ElementsAre(HasSubstr("model: max_position_embeddings")));
  EXPECT_THAT(both("bos_token_id", 1, 2), IsEmpty());
}

TEST(Comparability, AScaleIsNeutralByTheSizesOfItsModel) {
  const Json config = reference_manifest().manifest.json.at("model");
  const double head = config.at("hidden_size").get<double>() / config.at("num_attention_heads").get<double>();
  EXPECT_THAT(why_not_comparable(reference_manifest(),
                                 candidate_manifest(with_model({{"attention_multiplier", 1 / std::sqrt(head)}}))),
              IsEmpty());
  EXPECT_THAT(
      why_not_comparable(reference_manifest(), candidate_manifest(with_model({{"attention_multiplier", 0.75}}))),
      ElementsAre(HasSubstr("model: attention_multiplier")));
}

TEST(Comparability, WithoutAContextOfRopesOwnTheModelsIsCompared) {
  const auto scaled = [](std::int64_t context) {
    return with_model(
        {{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 2}}}, {"max_position_embeddings", context}});
  };
  const auto unsaid = with_model({{"rope_scaling", {{"rope_type", "llama3"}, {"factor", 2}}}});
  EXPECT_THAT(why_not_comparable(reference_manifest(unsaid), candidate_manifest(scaled(2048))), IsEmpty());
  EXPECT_THAT(why_not_comparable(reference_manifest(unsaid), candidate_manifest(scaled(64))),
              ElementsAre(HasSubstr("model: RoPE")));
}

TEST(Comparability, RopeIsComparedInBothSpellingsOfOneConfig) {
  const auto scaled = [](double factor) {
    return with_model(
        {{"rope_parameters", Json::object()}, {"rope_scaling", {{"type", "linear"}, {"factor", factor}}}});
  };
  EXPECT_THAT(why_not_comparable(reference_manifest(scaled(2)), candidate_manifest(scaled(2))), IsEmpty());
  EXPECT_THAT(why_not_comparable(reference_manifest(scaled(2)), candidate_manifest(scaled(4))),
              ElementsAre(HasSubstr("model: RoPE")));
}

TEST(Comparability, ListsOfTheOrderOfAccumulationAreOne) {
  const auto listed = [](char digit) {
    return Json{{"schedule", {{"accumulation", "listed"}, {"accumulation_digest", std::string(32, digit)}}}};
  };
  EXPECT_THAT(why_not_comparable(reference_manifest(listed('a')), candidate_manifest(listed('a'))), IsEmpty());
  EXPECT_THAT(why_not_comparable(reference_manifest(listed('a')), candidate_manifest(listed('b'))),
              ElementsAre(HasSubstr("digest of the accumulation order is " + std::string(32, 'a'))));
}

TEST(Comparability, EqualManifestsAreComparable) {
  EXPECT_THAT(why_not_comparable(reference_manifest(), candidate_manifest()), IsEmpty());
}

TEST(Comparability, MomentumOfSgdAndTheNumbersOfAdamwAreEachOptimizersOwn) {
  const Json sgd = {{"name", "sgd"}, {"momentum", 0.9}, {"weight_decay", 0.1}};
  Json other = sgd;
  other["momentum"] = 0.5;
  EXPECT_THAT(why_not_comparable(reference_manifest(of_external(with_optimizer(sgd))),
                                 candidate_manifest(of_external(with_optimizer(other)))),
              ElementsAre("optimizer: momentum is 0.9 in the reference and 0.5 in the candidate"));

  other = sgd;
  other["nu"] = 0.5;
  const auto reference = reference_manifest(of_external(with_optimizer(sgd))),
             candidate = candidate_manifest(of_external(with_optimizer(other)));
  EXPECT_THAT(why_not_comparable(reference, candidate),
              ElementsAre("optimizer: nu is 0 in the reference and 0.5 in the candidate"));
}

TEST(Comparability, VariantsAndOtherOptimizersAreComparedInTheirOwnKeys) {
  const auto why = [](const Json& one, const Json& other) {
    return why_not_comparable(reference_manifest(of_external(with_optimizer(one))),
                              candidate_manifest(of_external(with_optimizer(other))));
  };
  const Json sgd = {{"name", "sgd"}, {"momentum", 0.9}, {"weight_decay", 0.1}};
  const Json variants = {{"nesterov", true}, {"dampening", 0.5}, {"maximize", true}};
  for (const auto& [key, value] : variants.items()) {
    Json variant = sgd;
    variant[key] = value;
    EXPECT_THAT(why(sgd, variant), ElementsAre(HasSubstr("optimizer: " + key + " is 0 in the reference"))) << key;
    EXPECT_THAT(why(variant, sgd), ElementsAre(HasSubstr("optimizer: " + key))) << key;
    EXPECT_THAT(why(variant, variant), IsEmpty()) << key;
  }
  Json said = sgd;
  said["nesterov"] = false;
  EXPECT_THAT(why(sgd, said), IsEmpty());

  const Json adam = {{"name", "adam"}, {"beta1", 0.9}, {"implementation", "fused"}};
  Json other = adam;
  other["implementation"] = "foreach";
  EXPECT_THAT(why(adam, other), IsEmpty());
  other["beta1"] = 0.8;
  EXPECT_THAT(why(adam, other), ElementsAre("optimizer: beta1 is 0.9 in the reference and 0.8 in the candidate"));
}

TEST(Comparability, OptimizerKeysOfOnlyOneRecordAreCompared) {
  for (const char* name : {"adamw", "lion"}) {
    const auto of_optimizer = [&](const Json& more) {
      Json optimizer = more;
      optimizer["name"] = name;
      return of_external(with_optimizer(optimizer));
    };
    const auto plain = candidate_manifest(of_optimizer(Json::object()));
    for (const Json& off : {Json(0), Json(false), Json(nullptr), Json("")})
      EXPECT_THAT(why_not_comparable(reference_manifest(of_optimizer({{"clip_threshold", off}})), plain), IsEmpty())
          << off << ": recorders leave it out";

    const auto reference = reference_manifest(of_optimizer({{"clip_threshold", 1.0}}));
    EXPECT_THAT(why_not_comparable(reference, plain), ElementsAre(HasSubstr("optimizer: clip_threshold"))) << name;
    EXPECT_THAT(why_not_comparable(reference, candidate_manifest(of_optimizer({{"clip_threshold", 2.0}}))),
                ElementsAre(HasSubstr("optimizer: clip_threshold")))
        << name;
    EXPECT_THAT(keys_not_judged(reference.manifest, plain.manifest), IsEmpty());
  }
}

TEST(Comparability, SettingsOfOneOfSeveralGroupsAreNotJudgedIfTheyDiffer) {
  const auto of_groups = [](const Json& scale, const Json& groups) {
    return of_external(with_optimizer({{"name", "lion"}, {"scale", scale}, {"same", 1}, {"groups", groups}}));
  };
  for (const Json& groups : {Json(2), Json(nullptr)}) {
    const auto reference = reference_manifest(of_groups(0.5, 2)), candidate = candidate_manifest(of_groups(1, groups));
    EXPECT_THAT(why_not_comparable(reference, candidate), IsEmpty());
    EXPECT_THAT(keys_not_judged(reference.manifest, candidate.manifest), ElementsAre("optimizer.scale"));
  }
}

TEST(Comparability, TiedWeightsOfOnlyOneManifestAreRefused) {
  const auto words = ::testing::AllOf(HasSubstr("only one manifest lists the tied weights"), HasSubstr("Record(tied="));
  EXPECT_THAT(why_not_comparable(reference_manifest(), candidate_manifest({{"tied", Json::array()}})),
              ElementsAre(words));
  EXPECT_THAT(why_not_comparable(reference_manifest({{"tied", Json::array()}}), candidate_manifest()),
              ElementsAre(words));
}

// Each pair says the same training in two ways.
struct SaidAlike {
  const char* name;
  Json reference, candidate;
};

void PrintTo(const SaidAlike& said, std::ostream* out) {
  *out << said.name;
}
class SaidInTwoWays : public ::testing::TestWithParam<SaidAlike> {};

TEST_P(SaidInTwoWays, EquivalentSpellingsAreComparable) {
  const auto& [name, reference, candidate] = GetParam();

  EXPECT_THAT(why_not_comparable(reference_manifest(reference), candidate_manifest(candidate)), IsEmpty());
  EXPECT_THAT(why_not_comparable(reference_manifest(candidate), candidate_manifest(reference)), IsEmpty());
}

const Json mesh_of_two = of_external(
    {{"world_size", 1},
     {"stages", {{{"stage", 0}, {"rank", 0}, {"units", {"embed_tokens", "layers.0", "layers.1", "norm", "lm_head"}}}}},
     {"mesh", mesh_json({{"dp", 2}, {"pp", 1}}, Json::array({Json::array({0}), Json::array({1})}), 0)}});

INSTANTIATE_TEST_SUITE_P(
    Manifests, SaidInTwoWays,
    ::testing::ValuesIn(std::vector<SaidAlike>{
        {"RopeOfNewAndOld", with_model({{"rope_theta", 7.5}, {"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}}}),
         with_model({{"rope_theta", 1.0},
                     {"rope_parameters", {{"rope_theta", 7.5}, {"rope_type", "linear"}, {"factor", 2.0}}}})},
        {"RopeThatIsNoObject", Json::object(), with_model({{"rope_scaling", "none"}})},
        {"RopeThetaByDefault", Json::object(), with_model({{"rope_theta", nullptr}})},
        {"ActivationByDefault", Json::object(), with_model({{"hidden_act", "silu"}})},
        {"NormEpsByDefault", with_model({{"rms_norm_eps", nullptr}}), with_model({{"rms_norm_eps", 1e-6}})},
        {"DecayByDefault", Json::object(), with_optimizer({{"decay", "all"}})},
        {"FrozenInAnotherOrder", {{"frozen", {"a", "b"}}}, {{"frozen", {"b", "a"}}}},
        {"ThreadsThatOneDoesNotTell", Json::object(), {{"threads", 4}}},
        {"RecomputeOfAnExternalRecord", {{"recompute", "layer"}}, of_external()},
        {"RecomputeThatAnExternalRecordDoes", Json::object(), of_external({{"recompute", "layer"}})},
        {"RatesThatAnExternalRecordDoesNotTell", Json::object(), of_external({{"learning_rate_schedule", nullptr}})},
        {"MeshOfOneAlone", of_external(), mesh_of_two},
        {"GpusThatOneDoesNotTell", {{"machine", {{"gpus", {"A100"}}}}}, Json::object()},
        {"GpusOfAnEmptyMachine", {{"machine", {{"gpus", {"A100"}}}}}, {{"machine", Json::object()}}},
        {"AnotherGpuOfItsKind", {{"device", "cuda:0"}}, {{"device", "cuda:1"}}}}),
    [](const auto& tested) { return tested.param.name; });

TEST(Comparability, DifferencesInOtherKeysNameBothSides) {
  Json mesh_of_three = mesh_of_two;
  mesh_of_three["mesh"] = mesh_json({{"dp", 3}, {"pp", 1}}, {{0}, {1}, {2}}, 0);
  const Json plain = Json::object(), lion = of_external(with_optimizer({{"name", "lion"}}));
  const Json gpt = of_external(with_model({{"model_type", "gpt2"}}));
  const Json perturbed = {{"perturbation", {{"seed", 1}}}}, shadow = {{"shadow_of", "bfloat16"}};
  struct Case {
    Json reference, candidate;
    std::vector<std::string> words;  ///< begin so
  };
  const std::vector<Case> cases = {
      {plain, lion, {"optimizer is \"adamw\" in the reference and \"lion\" in the candidate"}},
      {{{"threads", 2}}, {{"threads", 4}}, {"threads of a rank is 2 in the reference and 4 in the candidate"}},
      {mesh_of_two,
       mesh_of_three,
       {"the mesh's axes but the pipeline's are dp 2 (replicate) in the reference and dp 3 (replicate) in the "
        "candidate"}},
      {plain, of_external({{"clip_epsilon", 0.5}}), {"clip_epsilon is 0 in the reference and 0.5 in the candidate"}},
      {plain,
       of_external({{"digest", "position-sum-128"}}),
       {"the reference's tensors have xxh3-128 digests, the candidate's position-sum-128: record one of the runs again "
        "with the other's Record(digest=)"}},
      {plain, of_external({{"digest", "xxh3-128"}}), {}},
      {plain, gpt, {"model: model_type is \"llama\" in the reference and \"gpt2\" in the candidate"}},
      {gpt, plain, {"model: model_type is \"gpt2\" in the reference and \"llama\" in the candidate"}},
      {perturbed, plain, {"the reference is a perturbed run (--perturb {\"seed\":1})"}},
      {plain, perturbed, {"the candidate is a perturbed run"}},
      {shadow, plain, {"the reference is the float64 reference of a run in \"bfloat16\""}},
      {plain, shadow, {"the candidate is the float64 reference"}},
      {plain,
       of_external({{"seed", 5}, {"every", 2}, {"clip_norm", 3}}),
       {"seed is 1 in the reference and 5", "every is 1 in the reference and 2",
        "clip_norm is 1 in the reference and 3"}}};
  for (const auto& [reference, candidate, words] : cases) {
    const auto why = why_not_comparable(reference_manifest(reference), candidate_manifest(candidate));
    ASSERT_EQ(why.size(), words.size()) << (words.empty() ? "none" : words.front());
    for (std::size_t i = 0; i < why.size(); ++i) EXPECT_THAT(why[i], ::testing::StartsWith(words[i]));
  }
}

TEST(Comparability, OtherModelsAreComparedKeyByKey) {
  const auto gpt = [](Json keys) {
    keys.update({{"model_type", "gpt2"}, {"num_hidden_layers", nullptr}});
    return of_external(with_model(keys));
  };
  const auto why = [&](const Json& one, const Json& other) {
    return why_not_comparable(reference_manifest(gpt(one)), candidate_manifest(gpt(other)));
  };

  EXPECT_THAT(why({{"n_layer", 2}}, {{"n_layer", 3}}),
              ElementsAre("model: n_layer is 2 in the reference and 3 in the candidate"));
  EXPECT_THAT(why({{"n_layer", 2}}, Json::object()),
              ElementsAre("model: n_layer is 2 in the reference and null in the candidate"));
  EXPECT_THAT(why(Json::object(), {{"n_layer", 2}}),
              ElementsAre("model: n_layer is null in the reference and 2 in the candidate"));
  EXPECT_THAT(why({{"_name_or_path", "a"}, {"transformers_version", "4"}},
                  {{"_name_or_path", "b"}, {"transformers_version", "5"}}),
              IsEmpty())
      << "what a library notes of itself";
  EXPECT_THAT(
      why({{"scaling", {{"type", "linear"}, {"factor", 2}}}}, {{"scaling", {{"factor", 2}, {"type", "linear"}}}}),
      IsEmpty())
      << "of an object the keys have no order";
}

TEST(Comparability, OtherDevicesGiveOtherBitsAndMayBeComparedWithinLimits) {
  const Record cpu = reference_manifest(), gpu = candidate_manifest({{"device", "cuda:0"}});
  const auto why = why_not_comparable(cpu, gpu);

  ASSERT_THAT(why, SizeIs(2));
  EXPECT_EQ(why[0], "device is cpu in the reference and cuda in the candidate");
  EXPECT_THAT(why[1], ::testing::StartsWith("different devices give different bits"));
  EXPECT_THAT(why_not_comparable(cpu, gpu, ComparisonMode::calibrated), IsEmpty());
}

TEST(Comparability, OtherModelsOfGpusGiveOtherBits) {
  const auto on = [](const Json& gpus) {
    return Json{{"device", "cuda"}, {"machine", {{"gpus", gpus}, {"cpu", "x"}}}};
  };
  const auto why = why_not_comparable(reference_manifest(on({"A100"})), candidate_manifest(on({"H100"})));

  ASSERT_THAT(why, SizeIs(2));
  EXPECT_EQ(why[0], "GPU models is [\"A100\"] in the reference and [\"H100\"] in the candidate");
  EXPECT_THAT(why[1], ::testing::StartsWith("different devices give different bits"));
  EXPECT_THAT(why_not_comparable(reference_manifest(on({"A100"})), candidate_manifest(on({"A100"}))), IsEmpty());
  EXPECT_EQ(why_not_comparable(reference_manifest(on({"A100"})), candidate_manifest(on(nullptr))).at(0),
            "GPU models is [\"A100\"] in the reference and none in the candidate");
}

const Json gone_on_from_one = {{"first_step", 1}, {"resumed_from", {{"run_id", "before"}, {"step", 1}}}};

TEST(Comparability, RunsThatBeginAtDifferentSteps) {
  EXPECT_THAT(why_not_comparable(reference_manifest(), candidate_manifest(gone_on_from_one)),
              ElementsAre(::testing::StartsWith("the reference begins at step 0, the candidate at step 1")));
  EXPECT_THAT(why_not_comparable(reference_manifest(gone_on_from_one), candidate_manifest()),
              ElementsAre(::testing::StartsWith("the reference begins at step 1, the candidate at step 0")));
  EXPECT_THAT(why_not_comparable(reference_manifest(gone_on_from_one), candidate_manifest(gone_on_from_one)),
              IsEmpty());
}

TEST(Comparability, LimitsApplyOnlyToWholeRuns) {
  EXPECT_THAT(why_not_comparable(reference_manifest(gone_on_from_one), candidate_manifest(gone_on_from_one),
                                 ComparisonMode::calibrated),
              ElementsAre(::testing::StartsWith("the candidate resumes a run at step 1")));
}

TEST(Comparability, NullCountsAsAbsent) {
  Record null = candidate_manifest();
  for (const char* key : {"rope_scaling", "rope_parameters", "hidden_act", "attention_bias"})
    null.manifest.json["model"][key] = nullptr;
  null.manifest.json["optimizer"]["decay"] = nullptr;
  null.manifest.json["threads"] = nullptr;

  EXPECT_THAT(why_not_comparable(reference_manifest({{"threads", 2}}), null), IsEmpty());
}

}  // namespace
}  // namespace plumbline::testing
