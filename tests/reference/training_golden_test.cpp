// SPDX-License-Identifier: BSD-3-Clause
// Training by plumbline-reference, the whole program from ids to parameters, compared with transformers and torch.optim
// (fixtures/training_golden).
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

#include "record/digest.hpp"
#include "record/record.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/safetensors.hpp"
#include "tests/goldens/golden_machine.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "training/environment.hpp"

namespace plumbline {
namespace {

const std::filesystem::path golden_folder = std::filesystem::path(testing::fixtures_path()) / "training_golden";

/// How many values of one kind were compared, and how much they differed.
struct Difference {
  std::int64_t items = 0;
  std::int64_t differing = 0;  ///< items whose bits differ
  double largest = 0;          ///< error of the worst item, as the golden's limits count it; NaN if any item is NaN
  void add(bool same, double error) {
    ++items;
    differing += same ? 0 : 1;
    if (!(error <= largest)) largest = error;
  }
};

/// loss, norm, coefficient, rate, gradient, parameter, moment.
using Outcome = std::map<std::string, Difference>;

void compare_tensor(const SafetensorsEntry& ours, const SafetensorsEntry& golden, Difference& difference) {
  ASSERT_EQ(ours.dtype, golden.dtype);
  ASSERT_EQ(ours.shape, golden.shape);
  const std::vector<double> mine = numbers_of(ours), theirs = numbers_of(golden);
  ASSERT_FALSE(theirs.empty());
  double off = 0, whole = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    off += (mine[i] - theirs[i]) * (mine[i] - theirs[i]);
    whole += theirs[i] * theirs[i];
  }
  difference.add(std::ranges::equal(ours.bytes, golden.bytes), off == 0 ? 0 : std::sqrt(off / whole));
}

class TrainedGolden {
 public:
  explicit TrainedGolden(const std::string& name)
      : folder_(golden_folder / name),
        json_(read_json(folder_ / "golden.json")),
        steps_(folder_ / "steps.safetensors") {}

  bool same_code_path() const { return holds_bits_of_here(json_); }
  void set_digest(const std::string& key, const std::string& digest) { json_.at("digests").at(key) = digest; }
  /// The limits of the kind on another code path.
  double limit(const std::string& kind) const {
    const Json& limits = json_.at("limits");
    if (kind == "rate") return 0;
    if (kind == "loss") return limits.at("loss_absolute").get<double>();
    return limits.at(kind == "coefficient" ? "norm" : kind).get<double>();
  }

  /// Runs the program on the golden's run file, or on one that `change` made of it.
  Outcome train(const std::function<void(std::string& run_file)>& change = nullptr) const {
    const testing::TemporaryFolder folder;
    std::filesystem::copy(folder_, folder / "golden");
    std::string run_file = read_file(folder / "golden/run.toml");
    if (change) change(run_file);
    folder.file("golden/run.toml", run_file);
    const std::string command = "'" + testing::bin_path() + "/plumbline-reference' '" +
                                (folder / "golden/run.toml").string() + "' --quiet --record '" +
                                (folder / "record").string() + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return compare(folder / "record");
  }

 private:
  Outcome compare(const std::filesystem::path& path) const {
    const RankRecord rank = read_record(path).ranks.at(0);
    Outcome outcome;
    const std::vector<double> losses = numbers_of(steps_.at("loss"));
    EXPECT_EQ(rank.microbatches.size(), losses.size());
    for (std::size_t i = 0; i < std::min(losses.size(), rank.microbatches.size()); ++i) {
      const double ours = static_cast<double>(rank.microbatches[i].loss.value());
      outcome["loss"].add(std::bit_cast<std::uint64_t>(ours) == std::bit_cast<std::uint64_t>(losses[i]),
                          std::abs(ours - losses[i]));
    }
    column(rank, "norm", &StepRow::gradient_norm, outcome);
    column(rank, "coefficient", &StepRow::clip_coefficient, outcome);
    column(rank, "rate", &StepRow::learning_rate, outcome);
    std::map<std::string, SafetensorsFile> dumps;
    const auto dumped = [&](const std::string& key) {  // kind/step/name
      const std::size_t first = key.find('/'), second = key.find('/', first + 1);
      const std::string step = key.substr(first + 1, second - first - 1);
      const auto dump = dumps.try_emplace(step, path / "rank-0/dumps" / ("step-" + step + ".safetensors")).first;
      return dump->second.at(key.substr(0, first) + key.substr(second));
    };
    for (const auto& [key, golden] : steps_.entries()) {
      if (key.find('/') != std::string::npos) compare_tensor(dumped(key), golden, outcome[counted_as(key)]);
    }
    if (!same_code_path()) return outcome;
    for (const auto& [key, digest] : json_.at("digests").items()) {
      const SafetensorsEntry ours = dumped(key);
      outcome[counted_as(key)].add(tensor_digest(ours.dtype, ours.shape, ours.bytes) == digest.get<std::string>(), 0);
    }
    return outcome;
  }

  static std::string counted_as(const std::string& key) {
    const std::string kind = key.substr(0, key.find('/'));
    return kind.starts_with("moment") ? "moment" : kind == "copy" ? "parameter" : kind;
  }

  void column(const RankRecord& rank, const std::string& name, std::optional<double> StepRow::*value,
              Outcome& outcome) const {
    const std::vector<double> golden = numbers_of(steps_.at(name));
    EXPECT_EQ(rank.steps.size(), golden.size());
    for (std::size_t i = 0; i < std::min(golden.size(), rank.steps.size()); ++i) {
      const double ours = (rank.steps[i].*value).value();
      outcome[name].add(ours == golden[i], std::abs(ours - golden[i]) / golden[i]);
    }
  }

  std::filesystem::path folder_;
  Json json_;
  SafetensorsFile steps_;
};

class TrainingGoldens : public ::testing::TestWithParam<const char*> {};

TEST_P(TrainingGoldens, FromIdsToParameters) {
  const TrainedGolden golden(GetParam());
  const bool exact = golden.same_code_path();
  const std::string name = GetParam();  // goldens in bfloat16 contain the bits of one processor
  const bool in_float32 = !name.ends_with("bfloat16") && !name.ends_with("mixed");
  EXPECT_TRUE(exact || !in_float32 || std::getenv("PLUMBLINE_REQUIRE_GOLDEN_BITS") == nullptr)
      << "PLUMBLINE_REQUIRE_GOLDEN_BITS is set, but the golden is of another code path";

  const Outcome found = golden.train();

  EXPECT_EQ(found.size(), 7U);
  for (const auto& [kind, difference] : found) {
    std::printf("  %-12s %4lld items, %s, largest error %.2g\n", kind.c_str(), static_cast<long long>(difference.items),
                exact ? "0 ULP" : "another code path", difference.largest);
    EXPECT_GT(difference.items, 0);
    EXPECT_TRUE(difference.differing == 0 || !exact)
        << kind << ": " << difference.differing << " are not the same bits";
    EXPECT_LE(difference.largest, golden.limit(kind)) << kind;
  }
}

INSTANTIATE_TEST_SUITE_P(, TrainingGoldens,
                         ::testing::Values("adamw_clip", "adamw_tied", "sgd_clip", "adamw_matrices", "sgd_matrices",
                                           "adamw_bfloat16", "sgd_bfloat16", "adamw_mixed", "sgd_mixed"),
                         [](const auto& given) { return std::string(given.param); });

TEST(TrainingGoldenDigests, AWrongDigestFailsOnItsCodePath) {
  TrainedGolden golden("sgd_mixed");
  golden.set_digest("parameter/0/model.norm.weight", std::string(32, '0'));
  golden.set_digest("copy/3/lm_head.weight", std::string(32, '0'));

  const Difference found = golden.train().at("parameter");

  if (golden.same_code_path()) {
    EXPECT_EQ(found.differing, 2);
  }
}

/// A mistake in the program's input; each must exceed the limits even on another code path.
struct Planted {
  const char* name;
  const char* golden;
  const char* line;   ///< of run.toml
  const char* wrong;  ///< replaces it
};

void PrintTo(const Planted& planted, std::ostream* out) {
  *out << planted.name;
}

class PlantedInTheProgram : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedInTheProgram, IsDetected) {
  const TrainedGolden golden(GetParam().golden);

  const Outcome found = golden.train([](std::string& run_file) {
    const std::size_t at = run_file.find(GetParam().line);
    ASSERT_NE(at, std::string::npos);
    run_file.replace(at, std::strlen(GetParam().line), GetParam().wrong);
  });

  std::string beyond;
  for (const auto& [kind, difference] : found) {
    if (!(difference.largest <= golden.limit(kind))) beyond += kind + " ";
  }
  EXPECT_NE(beyond, "");
}

INSTANTIATE_TEST_SUITE_P(
    , PlantedInTheProgram,
    ::testing::Values(Planted{"ClippingForgotten", "adamw_clip", "clip_norm = 2.45\n", ""},
                      Planted{"WarmUpOneStepShort", "adamw_tied", "warmup_steps = 2", "warmup_steps = 1"},
                      Planted{"FinalFactor", "adamw_matrices", "final_factor = 0.1", "final_factor = 0.0"},
                      Planted{"StartFactor", "sgd_clip", "start_factor = 0.1", "start_factor = 0.11"},
                      Planted{"AnotherMicrobatchMasked", "sgd_clip", "masked = [3]", "masked = [2]"},
                      Planted{"NoDecayInBfloat16", "adamw_bfloat16", "weight_decay = 0.1", "weight_decay = 0.0"}),
    [](const auto& given) { return std::string(given.param.name); });

}  // namespace
}  // namespace plumbline
