// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <regex>
#include <sstream>

#include "support/error.hpp"
#include "support/safetensors.hpp"
#include "tests/goldens/golden_demand.hpp"
#include "tests/goldens/judge_goldens.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "training/environment.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

const std::filesystem::path goldens = std::filesystem::path(testing::fixtures_path()) / "hf_golden";

std::vector<std::filesystem::path> all_goldens() {
  std::vector<std::filesystem::path> directories;
  for (const auto& entry : std::filesystem::directory_iterator(goldens)) {
    directories.push_back(entry.path());
  }
  std::ranges::sort(directories);
  return directories;
}

const char* const require_bits = "PLUMBLINE_REQUIRE_GOLDEN_BITS";

/// Restores the variable after the test.
class RequireBits {
 public:
  RequireBits() {
    if (const char* value = std::getenv(require_bits)) before_ = value;
    unsetenv(require_bits);
  }
  ~RequireBits() { before_ ? setenv(require_bits, before_->c_str(), 1) : unsetenv(require_bits); }
  RequireBits(const RequireBits&) = delete;
  RequireBits& operator=(const RequireBits&) = delete;

 private:
  std::optional<std::string> before_;
};

/// A copy of a golden to modify: two_tokens, the smallest.
class SpoiltGolden : public ::testing::Test {
 protected:
  void SetUp() override { take("two_tokens"); }

  /// The unmodified golden, without entries of other machines.
  void take(const std::string& name) {
    std::filesystem::copy(goldens / name, golden_);
    edit_json("golden.json", {{"also", nullptr}});
  }

  int judge() {
    out_.str("");
    return judge_goldens({golden_}, out_);
  }

  /// Rewrites io.safetensors with one tensor's bytes changed, or without it where `change` returns false.
  template <typename Change>
  void rewrite_io(const std::string& name, Change change) {
    std::vector<std::string> bytes;
    std::vector<NamedBytes> kept;
    const SafetensorsFile file(goldens / "two_tokens" / "io.safetensors");
    bytes.reserve(file.entries().size());
    for (const auto& [key, entry] : file.entries()) {
      bytes.emplace_back(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
      SafetensorsEntry copy = entry;
      if (key == name && !change(copy, bytes.back())) {
        continue;
      }
      copy.bytes = std::as_bytes(std::span(bytes.back()));
      kept.push_back({key, copy});
    }
    write_safetensors(golden_ / "io.safetensors", kept);
  }

  void put_float(const std::string& name, float value) {
    rewrite_io(name, [&](SafetensorsEntry&, std::string& bytes) {
      std::memcpy(bytes.data(), &value, sizeof value);
      return true;
    });
  }

  void edit_json(const std::string& file, const Json& changes) {
    Json json = read_json(golden_ / file);
    json.merge_patch(changes);
    write_json(golden_ / file, json);
  }

  /// Makes the golden look as if another kind of machine wrote it.
  void pretend_another_machine() {
    Json other = machine_json();
    other["cpu_family"] = 99;
    edit_json("golden.json", {{"machine", other}});
  }

  const RequireBits not_required_;
  TemporaryFolder folder_;
  std::filesystem::path golden_ = folder_ / "golden";
  std::ostringstream out_;
};

TEST(Goldens, AllHold) {
  std::ostringstream out;

  const int code = judge_goldens(all_goldens(), out);

  EXPECT_EQ(code, 0) << out.str();
  EXPECT_GE(all_goldens().size(), 8u);
  // No tensor computed by such a machine may escape the exact comparison.
  std::size_t exact = 0;
  for (const auto& golden : all_goldens()) {
    std::ostringstream one;
    judge_goldens({golden}, one);
    const std::string output = one.str();
    if (output.find("0 ULP demanded") == std::string::npos) continue;
    ++exact;
    std::smatch count;
    const std::regex counted("([0-9]+) of ([0-9]+) tensors, ([0-9]+) of ([0-9]+) elements");
    ASSERT_TRUE(std::regex_search(output, count, counted)) << output;
    EXPECT_EQ(count[1], count[2]) << golden;
    EXPECT_EQ(count[3], count[4]) << golden;
    EXPECT_GT(std::stoi(count[2]), 10) << golden;
  }
  const Json producer = read_json(goldens / "two_tokens" / "golden.json");
  if (golden_demand(producer, machine_json(), environment_json(), "golden.json").bits) {
    EXPECT_GE(exact, 8U);
  }
}

TEST(Goldens, NoGoldensIsAnError) {
  std::ostringstream out;

  EXPECT_THROW(judge_goldens({}, out), InputError);
}

TEST_F(SpoiltGolden, HoldsUnchanged) {
  EXPECT_EQ(judge(), 0) << out_.str();
}

TEST_F(SpoiltGolden, HoldsWithinTheToleranceOnOtherMachines) {
  pretend_another_machine();

  EXPECT_EQ(judge(), 0) << out_.str();
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("tolerance"), HasSubstr("cpu_family 99"), HasSubstr("compared at 0 ULP: 0 of 23")));
}

TEST_F(SpoiltGolden, HoldsWithinTheToleranceWithoutGoldenJson) {
  std::filesystem::remove(golden_ / "golden.json");

  EXPECT_EQ(judge(), 0) << out_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("tolerance"), HasSubstr("no golden.json")));
}

TEST_F(SpoiltGolden, FailsForAWrongEps) {
  edit_json("config.json", {{"rms_norm_eps", 1e-6}});
  EXPECT_EQ(judge(), 1) << out_.str();

  pretend_another_machine();
  EXPECT_EQ(judge(), 1) << out_.str();
}

TEST_F(SpoiltGolden, FailsForAWrongTheta) {
  edit_json("config.json", {{"rope_parameters", {{"rope_theta", 10100.0}}}});
  EXPECT_EQ(judge(), 1) << out_.str();

  pretend_another_machine();
  EXPECT_EQ(judge(), 1) << out_.str();
}

TEST_F(SpoiltGolden, AcceptsRoundingNoiseInAZeroGradient) {
  pretend_another_machine();
  const std::string zero =
      "grad.model.layers.0.self_attn.k_proj.weight";  // only the first token has a label: it attends only to itself

  put_float(zero, 4e-8f);  // measured with ATen's AVX2 and plain code paths: up to 3.3e-8
  EXPECT_EQ(judge(), 0) << out_.str();

  put_float(zero, 1e-6f);
  EXPECT_EQ(judge(), 1) << out_.str();
}

TEST_F(SpoiltGolden, OneBitFailsOnlyWhereBitsAreDemanded) {
  rewrite_io("grad.model.layers.1.mlp.up_proj.weight", [](SafetensorsEntry&, std::string& bytes) {
    bytes[0] = static_cast<char>(bytes[0] ^ 1);
    return true;
  });
  const Json producer = read_json(golden_ / "golden.json");
  const bool bits = golden_demand(producer, machine_json(), environment_json(), "golden.json").bits;

  EXPECT_EQ(judge(), bits ? 1 : 0) << out_.str();

  pretend_another_machine();
  EXPECT_EQ(judge(), 0) << out_.str();
}

TEST_F(SpoiltGolden, UsesTheMachinesOwnBits) {
  pretend_another_machine();
  EXPECT_EQ(judge(), 0) << out_.str();
  Json digests = Json::object();
  const auto judge_with = [&](const Json& outputs) {
    Json golden = read_json(golden_ / "golden.json");
    golden["also"] = Json::array({{{"machine", machine_json()}}});
    if (!outputs.is_null()) golden["also"][0]["outputs"] = outputs;
    write_json(golden_ / "golden.json", golden);
    return judge();
  };
  // The computed digests, as the failing rows name them.
  const SafetensorsFile file(golden_ / "io.safetensors");
  for (const auto& [name, entry] : file.entries()) {
    if (name != "input_ids" && name != "labels") digests[name] = std::string(32, '0');
  }
  EXPECT_EQ(judge_with(digests), 1);
  const std::string rows = out_.str();
  const std::regex row("([a-z_.0-9]+) +[0-9]+ .*FAILS: digest ([0-9a-f]{32}), expected 0{32}");
  for (std::sregex_iterator at(rows.begin(), rows.end(), row), end; at != end; ++at)
    digests[(*at)[1].str()] = (*at)[2].str();

  EXPECT_EQ(judge_with(digests), 0) << out_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("0 ULP demanded"), HasSubstr("compared at 0 ULP: 23 of 23")));

  for (const char* name : {"logits", "loss", "grad.model.norm.weight"}) {
    Json wrong = digests;
    auto& digest = wrong[name].get_ref<std::string&>();
    digest[0] = digest[0] == '0' ? '1' : '0';
    EXPECT_EQ(judge_with(wrong), 1);
    EXPECT_THAT(out_.str(), AllOf(HasSubstr("expected " + digest), HasSubstr("compared at 0 ULP: 22 of 23"))) << name;

    wrong.erase(name);
    EXPECT_EQ(judge_with(wrong), 1);
    EXPECT_THAT(out_.str(), HasSubstr("missing in golden.json")) << name;
  }
  digests["grad.none"] = digests["loss"];
  EXPECT_EQ(judge_with(digests), 1);
  EXPECT_THAT(out_.str(), HasSubstr("the model has no such tensor"));

  put_float("loss", 1.0F);  // without digests of its own it is compared with the file
  EXPECT_EQ(judge_with(nullptr), 1);
  EXPECT_THAT(out_.str(), HasSubstr("0 ULP demanded"));
}

TEST_F(SpoiltGolden, NamesAMalformedAlso) {
  const Json machine = machine_json();
  for (const Json& entry : {Json("here"), Json::object(), Json{{"machine", machine}, {"outputs", "io.safetensors"}},
                            Json{{"machine", machine}, {"outputs", {{"loss", "12"}}}}}) {
    Json golden = read_json(golden_ / "golden.json");
    golden["machine"]["cpu_family"] = 99;
    golden["also"] = Json::array({entry});
    write_json(golden_ / "golden.json", golden);

    EXPECT_THAT(error_of<InputError>([&] { judge(); }), AllOf(HasSubstr("golden.json"), HasSubstr("also"))) << entry;
  }
}

TEST_F(SpoiltGolden, AToleranceFailsIfBitsAreRequired) {
  pretend_another_machine();
  setenv(require_bits, machine_json().at("aten_capability").get<std::string>().c_str(), 1);

  EXPECT_EQ(judge(), 1);
  EXPECT_THAT(out_.str(), HasSubstr("PLUMBLINE_REQUIRE_GOLDEN_BITS"));

  setenv(require_bits, "SSE", 1);
  EXPECT_THAT(error_of<InputError>([&] { judge(); }), HasSubstr("PLUMBLINE_REQUIRE_GOLDEN_BITS=SSE"));
}

TEST_F(SpoiltGolden, ADifferenceBeyondTheToleranceFails) {
  pretend_another_machine();
  const SafetensorsFile file(goldens / "two_tokens" / "io.safetensors");
  for (const std::string name : {"logits", "loss", "grad.model.norm.weight"}) {
    float value = 0;
    std::memcpy(&value, file.at(name).bytes.data(), sizeof value);
    put_float(name, value + 1e-3f);

    EXPECT_EQ(judge(), 1) << name << out_.str();
  }
}

TEST_F(SpoiltGolden, NanFails) {
  pretend_another_machine();
  for (const std::string name : {"logits", "loss", "grad.lm_head.weight"}) {
    put_float(name, std::numeric_limits<float>::quiet_NaN());

    EXPECT_EQ(judge(), 1) << name;
    EXPECT_THAT(out_.str(), HasSubstr("NaN"));
  }
}

TEST_F(SpoiltGolden, NanOnBothSidesFails) {
  std::filesystem::copy_file(golden_ / "model.safetensors", golden_ / "before");
  std::string weights = testing::bytes_of(golden_ / "before");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(weights.data() + weights.size() - sizeof nan, &nan, sizeof nan);
  folder_.file("golden/model.safetensors", weights);
  put_float("logits", nan);

  EXPECT_THAT(error_of<InputError>([&] { judge(); }), HasSubstr("not finite"));
}

TEST_F(SpoiltGolden, AMissingTensorFails) {
  for (const std::string name : {"logits", "loss", "grad.model.layers.0.self_attn.k_proj.weight"}) {
    rewrite_io(name, [](SafetensorsEntry&, std::string&) { return false; });

    EXPECT_EQ(judge(), 1);
    EXPECT_THAT(out_.str(), HasSubstr("missing in io.safetensors")) << name;
  }
}

TEST_F(SpoiltGolden, ATensorOfAnotherModelFails) {
  std::vector<NamedBytes> all;
  const SafetensorsFile file(goldens / "two_tokens" / "io.safetensors");
  for (const auto& [name, entry] : file.entries()) all.push_back({name, entry});
  all.push_back({"grad.model.layers.7.mlp.up_proj.bias", all.front().entry});
  write_safetensors(golden_ / "io.safetensors", all);

  EXPECT_EQ(judge(), 1);
  EXPECT_THAT(out_.str(), HasSubstr("the model has no such tensor"));

  edit_json("config.json", {{"num_hidden_layers", 1}});
  EXPECT_THAT(error_of<InputError>([&] { judge(); }), HasSubstr("the config has no such tensor"));
}

TEST_F(SpoiltGolden, AnotherShapeFails) {
  rewrite_io("grad.model.norm.weight", [](SafetensorsEntry& entry, std::string&) {
    entry.shape = {2, 16};
    return true;
  });

  EXPECT_EQ(judge(), 1);
  EXPECT_THAT(out_.str(), HasSubstr("shape [2x16], ours [32]"));
}

TEST_F(SpoiltGolden, NamesMissingFiles) {
  for (const char* file : {"config.json", "model.safetensors", "io.safetensors"}) {
    std::filesystem::rename(golden_ / file, folder_ / "away");
    EXPECT_THAT(error_of<InputError>([&] { judge(); }), HasSubstr((golden_ / file).string()));
    std::filesystem::rename(folder_ / "away", golden_ / file);
  }
  EXPECT_THAT(error_of<InputError>([&] { judge_goldens({folder_ / "none"}, out_); }), HasSubstr("none"));
}

TEST_F(SpoiltGolden, NamesTokensBeyondTheVocabulary) {
  rewrite_io("input_ids", [](SafetensorsEntry&, std::string& bytes) {
    const std::int64_t beyond = 96;
    std::memcpy(bytes.data(), &beyond, sizeof beyond);
    return true;
  });

  EXPECT_THAT(error_of<InputError>([&] { judge(); }), AllOf(HasSubstr("input_ids"), HasSubstr("96")));
}

TEST_F(SpoiltGolden, NamesNegativeIdsAndLabelsOtherThanMinus100) {
  const SafetensorsFile file(goldens / "two_tokens" / "io.safetensors");
  const std::string labels = file.entries().contains("shift_labels") ? "shift_labels" : "labels";
  for (const std::int64_t number : {-1, -99, -100, -101}) {
    for (const std::string& name : {labels, std::string("input_ids")}) {
      if (name == labels && number == -100) continue;
      rewrite_io(name, [&](SafetensorsEntry&, std::string& bytes) {
        std::memcpy(bytes.data(), &number, sizeof number);
        return true;
      });
      EXPECT_THAT(error_of<InputError>([&] { judge(); }), HasSubstr(name + " holds " + std::to_string(number)));
    }
  }
}

TEST_F(SpoiltGolden, OtherShapesAndTypesAreRefused) {
  const SafetensorsFile file(goldens / "two_tokens" / "io.safetensors");
  const std::string labels = file.entries().contains("shift_labels") ? "shift_labels" : "labels";
  const auto refused = [&](const std::string& name,
                           const std::function<void(SafetensorsEntry&, std::string&)>& change) {
    rewrite_io(name, [&](SafetensorsEntry& entry, std::string& bytes) {
      change(entry, bytes);
      return true;
    });
    return error_of<InputError>([&] { judge(); });
  };
  EXPECT_THAT(refused("input_ids", [](auto& entry, auto&) { entry.shape.insert(entry.shape.begin(), 1); }),
              HasSubstr("input_ids must be [batch, sequence], found [1x"));
  EXPECT_THAT(refused("input_ids",
                      [](auto& entry, auto& bytes) {
                        entry.shape = {0, 3};
                        bytes.clear();
                      }),
              HasSubstr("input_ids must be [batch, sequence], found [0x3]"));
  EXPECT_THAT(refused(labels,
                      [](auto& entry, auto&) {
                        entry.shape = {entry.shape[0] * entry.shape[1], 1};
                      }),
              HasSubstr("io.safetensors: labels are ["));
  EXPECT_THAT(refused("logits",
                      [](auto& entry, auto& bytes) {
                        entry.dtype = "float64";
                        bytes.resize(2 * bytes.size());
                      }),
              HasSubstr("logits must be float32 or bfloat16, found float64"));
  rewrite_io("none", [](SafetensorsEntry&, std::string&) { return true; });
  write_json(golden_ / "golden.json", Json::array());
  EXPECT_THAT(error_of<InputError>([&] { judge(); }), HasSubstr("a golden.json must hold one object"));
}

TEST_F(SpoiltGolden, ALossNeedsLabels) {
  for (const char* name : {"labels", "shift_labels"}) {
    if (!SafetensorsFile(goldens / "two_tokens" / "io.safetensors").entries().contains(name)) continue;
    rewrite_io(name, [](SafetensorsEntry&, std::string& bytes) {
      constexpr std::int64_t none = -100;
      for (std::size_t at = 0; at < bytes.size(); at += sizeof none) std::memcpy(bytes.data() + at, &none, sizeof none);
      return true;
    });
  }
  EXPECT_THAT(error_of<InputError>([&] { judge(); }), HasSubstr("no position has a label"));
}

TEST_F(SpoiltGolden, OneFailureFailsAll) {
  put_float("loss", 99);
  EXPECT_EQ(judge_goldens({golden_, goldens / "two_tokens"}, out_), 1);
  EXPECT_THAT(out_.str(), HasSubstr("1 of 2 goldens hold"));
}

TEST_F(SpoiltGolden, RefusesLooserLimits) {
  edit_json("golden.json", {{"limits", {{"logits_absolute", 1e-3}}}});

  EXPECT_THAT(error_of<InputError>([&] { judge(); }), AllOf(HasSubstr("golden.json"), HasSubstr("logits_absolute")));
}

class SpoiltBfloat16Golden : public SpoiltGolden {
 protected:
  void SetUp() override { take("bfloat16"); }
  bool same_path() {
    const Json producer = read_json(golden_ / "golden.json");
    return golden_demand(producer, machine_json(), environment_json(), "golden.json", "bfloat16").bits;
  }
};

TEST_F(SpoiltBfloat16Golden, UsesItsOwnLimitsOnOtherMachines) {
  pretend_another_machine();
  EXPECT_EQ(judge(), 0) << out_.str();
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("tolerance"), HasSubstr("compared at 0 ULP: 0 of 37")));

  edit_json("config.json", {{"rope_parameters", {{"rope_theta", 11000.0}}}});
  EXPECT_EQ(judge(), 1) << out_.str();
}

TEST_F(SpoiltBfloat16Golden, BitsRevealAWrongEps) {
  const bool bits = same_path();
  edit_json("config.json", {{"rms_norm_eps", 1e-6}});

  const int failed = judge();

  // On other processors it may be within the limits or beyond them.
  if (bits) {
    EXPECT_EQ(failed, 1) << out_.str();
  } else {
    EXPECT_THAT(out_.str(), HasSubstr("compared at 0 ULP: 0 of 37"));
  }
}

TEST_F(SpoiltBfloat16Golden, OtherBf16InstructionsAreAnotherCodePath) {
  edit_json("golden.json", {{"machine", {{"bf16_instructions", "none of this world"}}}});

  EXPECT_FALSE(same_path());
}

TEST_F(SpoiltBfloat16Golden, LimitsAreNoLooserThanThoseOfItsDtype) {
  edit_json("golden.json", {{"limits", {{"logits_absolute", 0.1}}}});

  EXPECT_THAT(error_of<InputError>([&] { judge(); }), HasSubstr("logits_absolute"));
}

TEST_F(SpoiltBfloat16Golden, NamesALossOfAnotherDtype) {
  std::vector<NamedBytes> entries;
  const SafetensorsFile file(goldens / "bfloat16" / "io.safetensors");
  for (const auto& [name, entry] : file.entries()) entries.push_back({name, entry});
  const std::array<std::byte, 2> narrow{};
  std::ranges::find(entries, "loss", &NamedBytes::name)->entry = {"bfloat16", {}, narrow};
  write_safetensors(golden_ / "io.safetensors", entries);

  EXPECT_THAT(error_of<InputError>([&] { judge(); }), AllOf(HasSubstr("loss must be float32"), HasSubstr("bfloat16")));
}

}  // namespace
}  // namespace plumbline
