#include "reference/trainer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <string>

#include "record/record.hpp"
#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

const std::string quick = std::string(PLUMBLINE_FIXTURES) + "/runs/quick.toml";

Record train(const std::filesystem::path& folder, std::optional<std::filesystem::path> accumulation = std::nullopt,
             const std::string& run = quick) {
  ReferenceOptions options;
  options.run_file = run;
  options.record = folder;
  options.accumulation = std::move(accumulation);
  options.command = {"test"};
  options.progress = false;
  train_reference(options);
  return read_record(folder);
}

/// Digests by (step, kind, name).
std::map<std::string, std::string> digests(const Record& record, const std::string& kind) {
  std::map<std::string, std::string> found;
  for (const TensorRow& row : record.ranks.front().tensors) {
    if (row.kind == kind) found[std::to_string(row.step) + "/" + row.name] = row.digest;
  }
  return found;
}

std::filesystem::path order_file(const std::filesystem::path& path, bool ascending) {
  std::ofstream out(path);
  out << "unit,microbatch\n";
  for (const char* unit :
       {"embed_tokens", "layers.0", "layers.1", "layers.2", "layers.3", "layers.4", "norm", "lm_head"}) {
    for (int i = 0; i < 4; ++i) out << unit << ',' << (ascending ? i : 3 - i) << '\n';
  }
  return path;
}

TEST(ReferenceTrainer, WritesACompleteRecordWithEveryCut) {
  const testing::TemporaryFolder folder;

  const Record record = train(folder.path() / "record");

  EXPECT_EQ(record.manifest.role, "reference");
  EXPECT_EQ(record.ranks.front().steps.size(), 3U);
  EXPECT_EQ(record.ranks.front().boundaries.size(), 3U * 4 * 7 * 2) << "steps, microbatches, cuts, directions";
  EXPECT_EQ(record.ranks.front().exit->status, "ok");
  EXPECT_TRUE(record.ranks.front().traffic.empty());
}

TEST(ReferenceTrainer, GivesTheSameBitsTwice) {
  const testing::TemporaryFolder folder;

  const Record a = train(folder.path() / "a");
  const Record b = train(folder.path() / "b");

  EXPECT_EQ(digests(a, "parameter"), digests(b, "parameter"));
  EXPECT_EQ(digests(a, "gradient"), digests(b, "gradient"));
  EXPECT_NE(a.manifest.run_id, b.manifest.run_id);
}

TEST(ReferenceTrainer, KeepsWhatTheClosedFormsSay) {
  const testing::TemporaryFolder folder;

  const Record record = train(folder.path() / "record");

  constexpr std::int64_t hidden = 64, kv = 32, intermediate = 172, heads = 8, vocabulary = 512;
  std::size_t looked_at = 0;
  for (const SavedRow& row : record.ranks.front().saved) {
    const MicrobatchRow& data = record.ranks.front().microbatches[static_cast<std::size_t>(row.microbatch)];
    const std::int64_t tokens = data.batch * data.sequence_length;
    std::int64_t expected = 0;
    if (row.unit.starts_with("layers.")) {
      expected = 4 * tokens * (8 * hidden + 2 * kv + 4 * intermediate + heads + 2);
    } else if (row.unit == "norm") {
      expected = 4 * tokens * (2 * hidden + 1);
    } else if (row.unit == "lm_head") {
      expected = 4 * tokens * (vocabulary + hidden) + 4;
    }
    EXPECT_EQ(row.saved_bytes, expected) << row.unit << ", microbatch " << row.microbatch;
    ++looked_at;
  }
  EXPECT_EQ(looked_at, 4U * 8);
}

TEST(ReferenceTrainer, LearnsInBfloat16) {
  const testing::TemporaryFolder folder;

  const Record record =
      train(folder.path() / "record", {}, std::string(PLUMBLINE_FIXTURES) + "/runs/stories260k-sgd-bf16.toml");

  const RankRecord& rank = record.ranks.front();
  const float first = rank.steps.front().loss.value(), last = rank.steps.back().loss.value();
  EXPECT_NEAR(first, std::log(512.0F), 0.05F);  // logits near 0 at the start: ln V
  EXPECT_LT(last, first - 1) << "in float32 five steps bring it from 6.24 to 4.34";
  for (const TensorRow& row : rank.tensors) EXPECT_EQ(row.dtype, "bfloat16") << row.kind << " " << row.name;
  for (const BoundaryRow& row : rank.boundaries) {
    EXPECT_EQ(row.dtype, "bfloat16");
    EXPECT_EQ(row.bytes, 2 * row.shape[0] * row.shape[1] * row.shape[2]);
  }
}

TEST(ReferenceTrainer, SumsInTheOrderOfAFile) {
  const testing::TemporaryFolder folder;
  const Record plain = train(folder.path() / "plain");

  const Record ascending = train(folder.path() / "up", order_file(folder.path() / "up.csv", true));
  const Record descending = train(folder.path() / "down", order_file(folder.path() / "down.csv", false));

  EXPECT_EQ(digests(ascending, "gradient"), digests(plain, "gradient"));
  EXPECT_NE(digests(descending, "gradient"), digests(plain, "gradient")) << "the order must show in the bits";
  EXPECT_EQ(descending.manifest.accumulation, "listed");
  EXPECT_FALSE(descending.manifest.accumulation_digest.empty());
}

TEST(ReferenceTrainer, RefusesAnIncompleteOrder) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() / "order.csv") << "unit,microbatch\nembed_tokens,0\nembed_tokens,0\n";
  std::ofstream(folder.path() / "unknown.csv") << "unit,microbatch\nlayers.9,0\n";

  order_file(folder.path() / "parameter.csv", true);
  std::ofstream(folder.path() / "parameter.csv", std::ios::app) << "model.norm.weight,3\n";

  EXPECT_THROW(train(folder.path() / "c", folder.path() / "parameter.csv"), InputError) << "one of four";
  EXPECT_THROW(train(folder.path() / "a", folder.path() / "order.csv"), InputError);
  EXPECT_THROW(train(folder.path() / "b", folder.path() / "unknown.csv"), InputError);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "a")) << "nothing is begun on bad input";
}

TEST(ReferenceTrainer, OverwritesNoOtherRun) {
  const testing::TemporaryFolder folder;
  train(folder.path() / "record");

  EXPECT_THROW(train(folder.path() / "record"), InputError);
  EXPECT_EQ(read_record(folder.path() / "record").ranks.front().steps.size(), 3U);
}

}  // namespace
}  // namespace plumbline
