#include "harness/commands/record_show.hpp"

#include <gmock/gmock.h>

#include "harness/commands/record_rules.hpp"
#include "harness/judge/judge.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(RecordShow, TellsWhatIsThereOfEachRank) {
  SyntheticCell cell;

  const std::string text = shown_record(cell.write_candidate());

  EXPECT_THAT(
      text, AllOf(HasSubstr("pipeline, plumbline-record/2"), HasSubstr("2 ranks, 2 steps of 5 microbatches"),
                  HasSubstr("rank 1: layers.1, norm, lm_head"), HasSubstr("rank 1          ok, code 0; 2 whole steps"),
                  HasSubstr("10 microbatches.csv"), HasSubstr("10 send")));
}

TEST(RecordShow, AReplicaOfAMeshAndEveryKthStepAreTold) {
  SyntheticCell cell;
  cell.candidate.manifest["role"] = "external";
  cell.candidate.manifest["every"] = 10;
  cell.candidate.manifest["mesh"] = {
      {"axes", {{"dp", 2}, {"pp", 2}}}, {"pipeline", "pp"}, {"replicas", {{0, 2}, {1, 3}}}, {"replica", 1}};

  EXPECT_THAT(shown_record(cell.write_candidate()),
              AllOf(HasSubstr("every           10: step i of the record is step 10 i of the run\n"),
                    HasSubstr("mesh            replica 1 of 2 along pp, ranks 1, 3 of the run; axes dp 2, pp 2\n")));
}

TEST(RecordShow, HowItClipsAndWhatIsTiedFrozenOrAbsentIsTold) {
  SyntheticCell cell;
  cell.candidate.manifest["clip_norm"] = nullptr;
  EXPECT_THAT(shown_record(cell.write_candidate()), HasSubstr("clipping        none\n"));

  SyntheticCell other;
  other.candidate.manifest["role"] = "external";
  other.candidate.manifest["clip_norm"] = 0.5;
  other.candidate.manifest["norm_order"] = "per_rank";
  other.candidate.manifest["clip_epsilon"] = 0.25;
  const auto record = other.write_candidate();
  std::filesystem::remove(record / "schedule.csv");
  EXPECT_THAT(shown_record(record),
              AllOf(HasSubstr("clipping        0.5, epsilon 0.25, of a norm summed rank by rank\n"),
                    HasSubstr(" (no schedule.csv), gradients summed ascending\n")));
}

TEST(RecordShow, RankThatWasKilledSaysSo) {
  SyntheticCell cell;
  const auto record = cell.write_candidate();
  std::filesystem::remove(record / "rank-1" / "exit.json");

  EXPECT_THAT(shown_record(record), HasSubstr("rank 1          no exit.json: killed outright, or still running"));
}

TEST(RecordShow, FolderWithoutManifestIsRefused) {
  const TemporaryFolder folder;
  EXPECT_THROW(shown_record(folder.path()), InputError);
  EXPECT_THROW(shown_record(folder / "nothing"), InputError);
}

TEST(RecordRules, NameEveryCheckAndWhatAnExternalRecordMayLack) {
  const std::string text = rules_text();

  for (const auto& name : check_names()) EXPECT_THAT(text, HasSubstr("\n" + name + " ")) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("told where a table is absent"), HasSubstr("memory.csv, values: peak_bytes"),
                          HasSubstr("tensors.csv, columns: nonzero_rows")));
  for (const char* row :
       {"\nas_asked           -        required, always             required, always              exact  "
        "        all\n",
        "\nloss               summary  required                     required                      "
        "within limits  to the gradients\n",
        "\nparameters         full     required                     required                      "
        "within limits  to the update\n",
        "\nmemory             summary  required                     told where a table is absent  exact "
        "         all\n",
        "\nvariable_lengths   full     required where the bench is  required where the bench is   exact "
        "         all\n"})
    EXPECT_THAT(text, HasSubstr(row));
}

}  // namespace
}  // namespace plumbline::testing
