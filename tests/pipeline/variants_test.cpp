// SPDX-License-Identifier: BSD-3-Clause
// Mixed precision, and layers recomputed in the backward pass, under every schedule: bit-identical to a reference that
// saves its activations, and judged against a reference with the same run file.
#include <gtest/gtest.h>

#include <map>

#include "harness/judge/predicates/predicates.hpp"
#include "tests/pipeline/parity.hpp"
#include "tests/pipeline/references.hpp"
#include "tests/run_text.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct Variant {
  std::string lines;  ///< of [train]
  bool recompute = false;
  std::string model = "stories260k";
};

const std::map<std::string, Variant> variants = {
    {"mixed", {"precision = \"mixed\"\n"}},
    {"mixed_untied_sgd", {"precision = \"mixed\"\noptimizer = \"sgd\"\n", false, "untied-128"}},
    {"recompute", {"", true}},
    {"recompute_float64", {"precision = \"float64\"\n", true}},
    {"recompute_bfloat16", {"precision = \"bfloat16\"\n", true}},
    {"recompute_mixed", {"precision = \"mixed\"\n", true}}};

class VariantParity : public ::testing::TestWithParam<std::tuple<std::string, WorldAndSchedule>> {
 protected:
  static void SetUpTestSuite() { folder_ = std::make_unique<testing::TemporaryFolder>(); }
  static void TearDownTestSuite() { folder_.reset(); }

  /// Four microbatches of unequal lengths, one of them masked.
  static std::string text_of(const Variant& variant, bool recompute) {
    return testing::run_text("lengths = [16, 9, [16, 5], 1]\nbatch = 2\nmasked = [1]\n",
                             "steps = 3\nlearning_rate = 1e-3\nclip_norm = 3.7\n" + variant.lines +
                                 (recompute ? "recompute = \"layer\"\n" : ""),
                             variant.model);
  }
  /// The record of the reference, trained once for all tests.
  static fs::path reference_of(const std::string& name, bool recompute) {
    const std::string own = name + (recompute ? "-again" : "");
    const fs::path record = folder_->path() / own;
    if (!fs::exists(record))
      train_reference(reference_options(folder_->file(own + ".toml", text_of(variants.at(name), recompute)), record));
    return record;
  }

 private:
  static inline std::unique_ptr<testing::TemporaryFolder> folder_;
};

TEST_P(VariantParity, MatchesOneDevice) {
  const auto& [name, requested] = GetParam();
  const auto& [world, schedule] = requested;
  const Variant& variant = variants.at(name);
  const testing::TemporaryFolder own;
  const fs::path record = own / "r";

  const auto run = own.file("run.toml", text_of(variant, variant.recompute));
  ASSERT_EQ(train_pipeline(options(run, record, world, schedule)), 0);

  auto compared = expect_same_bits(read_record(reference_of(name, false)), read_record(record));
  EXPECT_EQ(compared["gradient"], 3 * (variant.model == "untied-128" ? 39 : 48)) << "9 a layer, norm, embedding, head";
  EXPECT_EQ(compared["copy"], variant.lines.find("mixed") == std::string::npos ? 0 : compared["parameter"]);
  expect_judged(requested, reference_of(name, variant.recompute), record,
                {"memory", "parameters", "gradients", "census"});
}

std::string variant_name(const ::testing::TestParamInfo<VariantParity::ParamType>& tested) {
  const auto& [name, requested] = tested.param;
  return name + "_" + name_of(::testing::TestParamInfo<WorldAndSchedule>(requested, 0));
}

const auto few = ::testing::Values(WorldAndSchedule{1, "1f1b"}, WorldAndSchedule{2, "zb-h1"},
                                   WorldAndSchedule{3, "1f1b"}, WorldAndSchedule{2, "zb-v"});

INSTANTIATE_TEST_SUITE_P(Worlds, VariantParity,
                         ::testing::Combine(::testing::Values("mixed", "recompute"),
                                            ::testing::ValuesIn(worlds_and_schedules(4))),
                         variant_name);
INSTANTIATE_TEST_SUITE_P(
    Few, VariantParity,
    ::testing::Combine(::testing::Values("recompute_float64", "recompute_bfloat16", "recompute_mixed"), few),
    variant_name);
INSTANTIATE_TEST_SUITE_P(Untied, VariantParity, ::testing::Combine(::testing::Values("mixed_untied_sgd"), few),
                         variant_name);

using MixedRecord = VariantParity;

TEST_F(MixedRecord, ListsFloat32MastersAndTheirCopiesInBfloat16) {
  const Record record = read_record(reference_of("mixed", false));

  EXPECT_EQ(record.manifest.dtype, "mixed");
  for (const TensorRow& row : record.ranks.front().tensors)
    EXPECT_EQ(row.dtype, row.kind == "copy" ? "bfloat16" : "float32") << row.kind << " " << row.name;
  for (const BoundaryRow& row : record.ranks.front().boundaries) EXPECT_EQ(row.dtype, "bfloat16");
  EXPECT_TRUE(predicates::judge_alone(record.path).findings.empty());
}

}  // namespace
}  // namespace plumbline
