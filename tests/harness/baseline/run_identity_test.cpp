// SPDX-License-Identifier: BSD-3-Clause
// Identity of runs and code paths, one key at a time; requests as keys and values, and their differences.
#include "harness/baseline/run_identity.hpp"

#include "tests/harness/matchers.hpp"

namespace plumbline::testing {
namespace {

const Json environment = {
    {"device", "cpu"},
    {"machine",
     {{"cpu_vendor", "v"},
      {"cpu_family", 1},
      {"cpu_model_number", 2},
      {"cpu_model", "Some Processor"},
      {"cores", 2},
      {"aten_capability", "AVX2"},
      {"mkl_version", "m"},
      {"bf16_instructions", "none"},
      {"gpus", Json::array()}}},
    {"versions", {{"libtorch", "2"}, {"cuda_runtime", "13"}, {"cuda_driver", "d"}, {"commit", "abc"}}},
    {"environment",
     {{"attention", "math"},
      {"compute_threads", 1},
      {"MKL_ENABLE_INSTRUCTIONS", "a"},
      {"MKL_CBWR", "b"},
      {"ATEN_CPU_CAPABILITY", "c"},
      {"ONEDNN_MAX_CPU_ISA", "d"},
      {"tf32_cublas", false},
      {"tf32_cudnn", false},
      {"hostname", "h"}}}};

/// The keys that `of` includes: "versions/libtorch".
template <class Of>
std::vector<std::string> keys_that_count(const Of& of) {
  std::vector<std::string> keys;
  for (const char* group : {"machine", "versions", "environment"}) {
    for (const auto& each : environment[group].items()) {
      Json changed = environment;
      changed[group][each.key()] = "another";
      if (of(changed) != of(environment)) keys.push_back(group + ("/" + each.key()));
    }
  }
  return keys;
}

TEST(RunIdentity, BitsDependOnTheseKeys) {
  EXPECT_EQ(keys_that_count(code_path_of),
            (std::vector<std::string>{
                "machine/cpu_vendor", "machine/cpu_family", "machine/cpu_model_number", "machine/aten_capability",
                "machine/mkl_version", "machine/bf16_instructions", "machine/gpus", "versions/libtorch",
                "versions/cuda_runtime", "versions/cuda_driver", "environment/attention", "environment/compute_threads",
                "environment/MKL_ENABLE_INSTRUCTIONS", "environment/MKL_CBWR", "environment/ATEN_CPU_CAPABILITY",
                "environment/ONEDNN_MAX_CPU_ISA", "environment/tf32_cublas", "environment/tf32_cudnn"}));
}

TEST(RunIdentity, TheDeviceCounts) {
  Json on_gpu = environment;
  on_gpu["device"] = "cuda";
  EXPECT_NE(code_path_of(on_gpu), code_path_of(environment));
}

TEST(RunIdentity, WhatSomebodyElseWroteMayHoldAnything) {
  Json damaged = environment;
  damaged["machine"] = 3;
  damaged.erase("versions");
  EXPECT_NE(code_path_of(damaged), code_path_of(environment));
  EXPECT_EQ(commit_of(damaged), "");
}

TEST(RunIdentity, FilesCountByTheirNamesWhereverTheyLie) {
  const auto asked = [](const char* first, const char* second) {
    return asked_digest({{"data", {{"files", {{{"path", first}, {"bytes", 3}}, {{"path", second}, {"bytes", 4}}}}}}});
  };
  EXPECT_EQ(asked("/here/a.txt", "/here/b.txt"), asked("/there/a.txt", "/elsewhere/b.txt"));
  EXPECT_NE(asked("/here/a.txt", "/here/b.txt"), asked("/here/a.bin", "/here/b.txt"));
  EXPECT_NE(asked("/here/a.txt", "/here/b.txt"), asked("/here/a.txt", "/here/c.txt"));
  EXPECT_EQ(asked_digest(nullptr), "");
  const auto keys = [](const char* path) {
    return request_keys({{"data", {{"files", {{{"path", path}, {"bytes", 3}}}}}}});
  };
  EXPECT_EQ(keys("/here/a.txt"), keys("/there/a.txt"));
}

TEST(RequestKeys, GroupsAreOpenedAndListsAreValues) {
  EXPECT_THAT(request_keys({{"steps", 5},
                            {"optimizer", {{"name", "sgd"}, {"momentum", 0.5}}},
                            {"clip_norm", nullptr},
                            {"lengths", {1, 2}},
                            {"evaluation", Json::object()}}),
              ElementsAre(Pair("clip_norm", "null"), Pair("evaluation", "{}"), Pair("lengths", "[1,2]"),
                          Pair("optimizer/momentum", "0.5"), Pair("optimizer/name", "sgd"), Pair("steps", "5")));
  EXPECT_THAT(request_keys(nullptr), IsEmpty());
}

TEST(RequestKeys, ALongValueIsItsDigest) {
  const std::string longest(32, 'a');
  const auto of = [](const std::string& text) { return request_keys({{"key", text}}).at("key"); };
  EXPECT_EQ(of(longest), longest);
  EXPECT_THAT(of(longest + "a"), StartsWith("digest "));
  EXPECT_EQ(of(longest + "a").size(), 7U + 12U);
  EXPECT_NE(of(longest + "a"), of(longest + "b"));
}

TEST(RequestKeys, WhatIsBeyondAnotherMakesItAgain) {
  const RequestKeys base = {{"kept", "1"}, {"gone", "2"}, {"other", "3"}};
  const RequestKeys keys = {{"kept", "1"}, {"other", "4"}, {"new", "5"}};

  const RequestKeys difference = beyond(base, keys);

  EXPECT_THAT(difference, ElementsAre(Pair("gone", "absent"), Pair("new", "5"), Pair("other", "4")));
  EXPECT_EQ(with(base, difference), keys);
  EXPECT_THAT(beyond(base, base), IsEmpty());
}

TEST(RequestKeys, DifferencesOfBothSidesAreTold) {
  EXPECT_THAT(request_differences({{"kept", "1"}, {"gone", "2"}, {"other", "3"}},
                                  {{"kept", "1"}, {"other", "4"}, {"new", "5"}}),
              ElementsAre("gone 2 before, absent now", "new absent before, 5 now", "other 3 before, 4 now"));
}

}  // namespace
}  // namespace plumbline::testing
