// SPDX-License-Identifier: BSD-3-Clause
// Which parts of a record are recomputed, and the report about the rest.
#include "record/record_stream.hpp"
#include "record/removed_dumps.hpp"
#include "tests/harness/judge/audit/audited_values.hpp"

namespace plumbline::testing {
namespace {

using ::testing::ElementsAre;

class AuditedRecord : public ::testing::Test {
 protected:
  using Path = std::filesystem::path;
  Path write() { return trained.write(folder_ / "record"); }
  /// The tables alone, of a training that was written, at another level.
  Path write_tables(const std::string& level) {
    trained.run.manifest["level"] = level;
    write_run(trained.run, folder_ / level);
    return folder_ / level;
  }

  TrainedRun trained{synthetic_candidate(trained_plan("adamw", /*tied=*/false))};

 private:
  TemporaryFolder folder_;
};

TEST_F(AuditedRecord, OfLevelNoneHasNoNumbers) {
  trained.run.manifest["level"] = "none";
  const Audit found = audit_record(write_tables("none"));

  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.recomputed, IsEmpty());
  EXPECT_THAT(found.not_audited, ElementsAre("all numbers: a record of level none holds none"));
}

TEST_F(AuditedRecord, OfLevelSummaryHasStepsAndNoTensors) {
  write();
  trained.run.ranks[1].steps[1].clip_coefficient = 0.75;
  const Audit found = audit_record(write_tables("summary"));

  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_EQ(found.findings[0].source, "rank-1/steps.csv:3");
  EXPECT_THAT(found.not_audited, ElementsAre("tensors: a record of level summary holds none"));
}

TEST_F(AuditedRecord, OfARankThatDidNotEndWellHasNoNumbers) {
  const auto record = write();
  std::filesystem::remove_all(record / "rank-0" / "dumps");  // which are not looked for
  for (RankRecord& rank : trained.run.ranks) rank.exit->status = "error", rank.exit->code = 1;
  trained.run.ranks[1].exit.reset();
  const Audit found = audit_record(write_tables("full"));

  ASSERT_THAT(found.findings, SizeIs(2));
  EXPECT_THAT(words_of(found.findings[0]),
              AllOf(StartsWith("rank-0/exit.json: step 0, rank 0, status: "), EndsWith("(expected ok, got error)")));
  EXPECT_THAT(words_of(found.findings[1]),
              AllOf(StartsWith("rank-1/exit.json: step 0, rank 1, status: "), EndsWith("(expected ok, got no file)")));
  EXPECT_THAT(found.recomputed, IsEmpty());
  EXPECT_THAT(found.not_audited, ElementsAre("all numbers: the run is not complete"));
}

Audit audit_from(const std::filesystem::path& path, std::int64_t first) {
  RecordStream stream(path, first);
  auditing::RecordAudit audit(stream.record(), {});
  for (std::optional<std::int64_t> step = -1; step; step = stream.next_step()) {
    stream.go_to(*step);
    audit.step(*step, stream.before());
  }
  return audit.conclude();
}

TEST_F(AuditedRecord, ReadFromALaterStepIsHeldToItsTables) {
  const auto record = write();
  const Audit right = audit_from(record, 1);

  for (const Finding& finding : right.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_FALSE(right.from_values);
  EXPECT_THAT(right.not_audited, ElementsAre("values: the steps before step 1 were skipped"));
}

TEST_F(AuditedRecord, ReadFromALaterStepNamesTheLinesOfItsFiles) {
  write();
  TensorRow& copy = tensor_row(trained.run, 1, "parameter", norm_weight);
  BoundaryRow& received = boundary_row(trained.run, 1, 3, "forward", "layers.1", "receive");
  const std::string boundary =
      "rank-1/boundaries.csv:" + std::to_string(&received - trained.run.ranks[1].boundaries.data() + 2);
  received.digest = other_digest;
  trained.run.ranks[1].steps[1].tokens = 12;
  const std::string tensor = "rank-1/tensors.csv:" + std::to_string(&copy - trained.run.ranks[1].tensors.data() + 2);
  trained.run.manifest["tied"] =
      Json::array({Json::array({"model.embed_tokens.weight", norm_weight})});  // so that digests must be equal

  const Audit wrong = audit_from(write_tables("full"), 1);

  std::vector<std::string> files;
  for (const Finding& finding : wrong.findings) files.push_back(finding.source);
  EXPECT_THAT(files, AllOf(Contains("rank-1/steps.csv:3"), Contains(tensor), Contains(boundary)));
}

TEST_F(AuditedRecord, WithATensorThatCannotBeComputedWithHasNoValuesFromThatOn) {
  write();
  trained.run.manifest["role"] = "external";
  tensor_row(trained.run, 0, "gradient", norm_weight).dtype = "float16";
  tensor_row(trained.run, 1, "gradient", norm_weight).dtype = "int64";

  const Audit found = audit_record(write_tables("full"));

  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.not_audited,
              ElementsAre(HasSubstr("an external trainer"), StartsWith("tensors: model.norm.weight is of float16, ")));
}

TEST_F(AuditedRecord, WithATensorThatCannotBeComputedWithTakesBackWhatItsValuesSaid) {
  trained.mistake = Mistake::no_update;
  const auto record = write();
  EXPECT_THAT(audit_record(record).findings, Contains(::testing::Field(&Finding::step, 0)));
  tensor_row(trained.run, 1, "gradient", norm_weight).dtype = "float16";
  trained.run.manifest["level"] = "dump";
  std::filesystem::remove(record / "manifest.json");
  for (const char* rank : {"rank-0", "rank-1"}) {
    for (const auto& file : std::filesystem::directory_iterator(record / rank)) {
      if (!file.is_directory()) std::filesystem::remove(file);
    }
    std::filesystem::rename(record / rank / "dumps", record / (std::string(rank) + "-dumps"));
    std::filesystem::remove(record / rank);
  }
  const auto again = write_tables("dump");
  for (const char* rank : {"rank-0", "rank-1"})
    std::filesystem::rename(record / (std::string(rank) + "-dumps"), again / rank / "dumps");

  const Audit found = audit_record(again);

  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_FALSE(found.from_values);
}

TEST_F(AuditedRecord, WithoutItsDumpsSaysWhereItStands) {
  const auto record = write();
  remove_dumps(record, "audited");

  const Audit found = audit_record(record);

  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_FALSE(found.from_values);
  EXPECT_THAT(found.not_audited, ElementsAre("values: the record's dumps were removed, as its dumps-removed.txt says"));
}

TEST_F(AuditedRecord, OfWhichNoValuesAreAskedForIsNotOpenedThere) {
  trained.mistake = Mistake::last_rate_applied;  // which no table shows
  const auto record = write();

  const Audit found = audit_record(record, {.values = false});

  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_FALSE(found.from_values);
}

TEST_F(AuditedRecord, OfAsManyBytesAsMayBeReadIsReadAndOfOneMoreNot) {
  const auto record = write();
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(record)) {
    if (file.path().extension() == ".safetensors") bytes += file.file_size();
  }

  const Audit read = audit_record(record, {.most_dump_bytes = bytes});
  EXPECT_TRUE(read.from_values);
  EXPECT_THAT(read.not_audited, IsEmpty());
  const Audit left = audit_record(record, {.most_dump_bytes = bytes - 1});
  EXPECT_FALSE(left.from_values);
  EXPECT_THAT(left.not_audited,
              ElementsAre("values: the dumps have " + std::to_string(bytes) + " bytes, more than " +
                          std::to_string(bytes - 1) + "; plumbline record check --large-dumps reads them"));
}

TEST_F(AuditedRecord, OfAnUnknownOptimiserIsHeldToAllButItsStep) {
  trained.mistake = Mistake::no_update;
  const auto record = write();
  Json manifest = read_json(record / "manifest.json");
  manifest["role"] = "external";
  manifest["optimizer"] = {{"name", "lion"}, {"learning_rate", trained.peak_rate}};
  write_json(record / "manifest.json", manifest);

  const Audit found = audit_record(record);

  for (const Finding& finding : found.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_TRUE(found.from_values);
  EXPECT_THAT(found.not_audited, Contains("the optimiser's step is not recomputed: no formula is known for lion"));
}

}  // namespace
}  // namespace plumbline::testing
