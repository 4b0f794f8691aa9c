// SPDX-License-Identifier: BSD-3-Clause
// An external record without a kind of rows that its recorder could not see: the verdict names the kind, does not fail
// for it, and fails for every fault in the existing rows.
#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>

#include "harness/commands/compare.hpp"
#include "harness/judge/checks/checks.hpp"
#include "harness/judge/predicates/predicates.hpp"
#include "support/files.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* why = "torch 2.16.0 has no such function";

/// Missing rows of a record, and the expected results.
struct Absent {
  const char* what;
  std::vector<std::string> red;  ///< checks, where the record does not say so; else what needs them is not run
  std::function<void(SyntheticRun&)> remove;
};

void PrintTo(const Absent& absent, std::ostream* out) {
  *out << absent.what;
}

std::function<void(SyntheticRun&)> without_side(const std::string& side) {
  return [side](SyntheticRun& run) {
    run.erase(&RankRecord::boundaries, [&](const BoundaryRow& row) { return side.empty() || row.side == side; });
  };
}

void remove_schedule(SyntheticRun& run) {
  run.schedule_csv.clear();
  run.manifest["schedule"]["digest"] = nullptr;
}

void remove_losses(SyntheticRun& run) {
  for (auto& rank : run.ranks) {
    for (auto& row : rank.steps) row.loss.reset();
    for (auto& row : rank.microbatches) row.loss.reset();
  }
}

void remove_data(SyntheticRun& run) {
  for (MicrobatchRow& row : run.rows(&RankRecord::microbatches)) row.data_digest.clear();
  digest_data_again(run);
}

void remove_actions(SyntheticRun& run) {
  for (auto& rank : run.ranks) rank.actions.clear();
}

void remove_norms(SyntheticRun& run) {
  for (StepRow& row : run.rows(&RankRecord::steps)) {
    row.gradient_norm.reset();
    row.clip_coefficient.reset();
  }
}

void remove_rates(SyntheticRun& run) {
  for (StepRow& row : run.rows(&RankRecord::steps)) row.learning_rate.reset();
}

std::function<void(SyntheticRun&)> without_tensors(const std::string& beginning) {
  return [beginning](SyntheticRun& run) {
    run.erase(&RankRecord::tensors, [&](const auto& row) { return row.kind.starts_with(beginning); });
  };
}

std::vector<Absent> all_kinds() {
  return {{"sends", {"boundaries"}, without_side("send")},
          {"receives", {"boundaries"}, without_side("receive")},
          {"boundaries", {"completion"}, without_side("")},
          {"actions", {"conformance"}, remove_actions},
          {"schedule", {}, remove_schedule},  // which an external record may always lack
          {"losses", {"loss"}, remove_losses},
          {"gradients", {"gradients"}, without_tensors("gradient")},
          {"norm", {"gradient_norm"}, remove_norms},
          {"parameters", {"parameters"}, without_tensors("parameter")},
          {"moments", {"parameters"}, without_tensors("moment")},
          {"rates", {"parameters"}, remove_rates},
          {"inputs", {"data"}, remove_data},
          {"labels", {"data"}, remove_data}};
}

/// The claim that no case holds without and that needs these rows; empty if there is none.
std::string claim_of(const std::string& what) {
  const std::map<std::string, std::string> claims = {{"inputs", "data"},
                                                     {"labels", "data"},
                                                     {"losses", "loss"},
                                                     {"gradients", "gradients"},
                                                     {"parameters", "parameters"}};
  const auto found = claims.find(what);
  return found == claims.end() ? "" : found->second;
}

/// Expects a case in which nothing differs: it holds, or is incomplete where such a claim lacks its rows.
void expect_nothing_differs(const CellVerdict& verdict, const std::string& what) {
  EXPECT_THAT(with_outcome(verdict, Outcome::differs), IsEmpty()) << comparison_text(verdict);
  EXPECT_EQ(verdict.holds, claim_of(what).empty()) << comparison_text(verdict);
  EXPECT_EQ(verdict.incomplete(), !verdict.holds);
  if (!verdict.holds) {
    EXPECT_THAT(acceptable_claims(verdict.checks), ElementsAre(claim_of(what)));
  }
}

/// Checks of the cell that need these rows, by their own descriptors.
std::vector<std::string> checks_that_need(const std::string& what) {
  std::vector<std::string> names;
  for (const CheckResult& result : SyntheticCell().judge().checks) {
    const judging::CheckDescriptor& check = judging::check_of(result.name);
    const auto lists = [&](const auto& kinds) { return std::ranges::find(kinds, what) != kinds.end(); };
    if (result.outcome != Outcome::does_not_apply && (lists(check.needs) || lists(check.compares_without)))
      names.push_back(check.name);
  }
  return names;
}

void say_not_recorded(Json& json, const std::string& what) {
  json["not_recorded"].push_back({{"what", what}, {"why", why}});
}

/// Of another program on torch 2.16.0.
struct TorchCell : SyntheticCell {
  explicit TorchCell(const SyntheticPlan& synthetic = {}) : SyntheticCell(synthetic) {
    candidate.manifest["role"] = "external";
    candidate.manifest["versions"] = {{"torch", "2.16.0"}};
  }
  TorchCell& without(const Absent& absent) {
    absent.remove(candidate);
    say_not_recorded(candidate.manifest, absent.what);
    return *this;
  }
};

std::vector<std::string> checks_that_speak_of(const CellVerdict& verdict, const std::string& sentence) {
  std::vector<std::string> names;
  for (const auto& check : verdict.checks) {
    if (check.outcome == Outcome::incomplete && check.reason.find(sentence) != std::string::npos)
      names.push_back(check.name);
  }
  return names;
}

class NotRecordedKind : public ::testing::TestWithParam<Absent> {};

INSTANTIATE_TEST_SUITE_P(Kinds, NotRecordedKind, ::testing::ValuesIn(all_kinds()),
                         [](const auto& kind) { return std::string(kind.param.what); });

TEST_P(NotRecordedKind, IsNamedAndMakesTheCaseIncompleteIfRequired) {
  const std::string what = GetParam().what;
  TorchCell cell;
  const auto verdict = cell.without(GetParam()).judge();

  expect_nothing_differs(verdict, what);
  EXPECT_EQ(checks_that_speak_of(verdict, "not recorded: " + what + " (" + why), checks_that_need(what));
  const std::string were = what.ends_with('s') ? " were" : " was";
  EXPECT_THAT(comparison_text(verdict),
              AllOf(HasSubstr(verdict.holds ? "HOLDS, but " + what + were + " not recorded (torch 2.16.0)"
                                            : "INCOMPLETE: nothing differs, but " + claim_of(what)),
                    HasSubstr("  " + what + " (not recorded: " + why)));
  EXPECT_EQ(verdict.not_recorded, (std::vector<Unrecorded>{{"candidate", what, why, "2.16.0"}}));
  cell.plan.accept_missing = {claim_of(what)};
  EXPECT_TRUE(cell.judge().holds);
}

TEST_P(NotRecordedKind, FailsIfTheRecordDoesNotNameIt) {
  TorchCell cell;
  GetParam().remove(cell.candidate);

  const auto verdict = cell.judge();

  EXPECT_EQ(verdict.holds, GetParam().red.empty()) << comparison_text(verdict);
  for (const auto& check : GetParam().red) EXPECT_THAT(with_outcome(verdict, Outcome::differs), Contains(check));
  EXPECT_THAT(verdict.not_recorded, IsEmpty());
}

TEST_P(NotRecordedKind, HidesNoFaultElsewhere) {
  TorchCell cell;
  cell.without(GetParam());
  const std::string kind = GetParam().what == std::string("parameters") ? "gradient" : "parameter";
  tensor_row(cell.candidate, 1, kind, "model.norm.weight").digest = other_digest;

  const auto verdict = cell.judge();

  EXPECT_THAT(with_outcome(verdict, Outcome::differs), Contains(kind + "s"));
  EXPECT_THAT(comparison_text(verdict), HasSubstr(std::string("DOES NOT HOLD; ") + GetParam().what));
}

TEST_P(NotRecordedKind, MayBeNamedInOneRanksExitFile) {
  TorchCell cell;
  GetParam().remove(cell.candidate);
  cell.candidate.ranks[1].exit->not_recorded = {{GetParam().what, why}};

  const auto verdict = cell.judge();

  expect_nothing_differs(verdict, GetParam().what);
  EXPECT_EQ(verdict.not_recorded, (std::vector<Unrecorded>{{"candidate", GetParam().what, why, "2.16.0"}}));
}

TEST_P(NotRecordedKind, IsNamedEvenIfAllRowsExist) {
  TorchCell cell;
  say_not_recorded(cell.candidate.manifest, GetParam().what);

  const auto verdict = cell.judge();

  expect_nothing_differs(verdict, GetParam().what);
  EXPECT_THAT(comparison_text(verdict), HasSubstr(std::string("  ") + GetParam().what));
}

/// The reference is a torch trainer of its own, from which the same is absent.
TEST_P(NotRecordedKind, MayBeAbsentFromTheReference) {
  TorchCell cell;
  cell.reference = synthetic_candidate({});
  cell.reference.manifest["role"] = "external";
  cell.reference.manifest["versions"] = {{"torch", "2.16.0"}};
  cell.candidate.manifest["versions"] = {{"torch", "2.17.1"}};
  for (ActionRow& row : cell.reference.rows(&RankRecord::actions)) row.end_ns += 1;  // no copy of the candidate
  GetParam().remove(cell.reference);
  say_not_recorded(cell.reference.manifest, GetParam().what);

  const Verdict verdict = comparison(cell.write_reference(), cell.write_candidate());

  expect_nothing_differs(verdict.cells.front(), GetParam().what);
  EXPECT_THAT(comparison_text(verdict), HasSubstr(GetParam().what));
}

TEST(NotRecorded, IsInTitleAndSummaryOfThePage) {
  TorchCell cell;
  cell.without(all_kinds()[0]);
  const auto reference = cell.write_reference(), candidate = cell.write_candidate();
  write_comparison(cell.folder / "page", reference, candidate, comparison(reference, candidate));
  EXPECT_THAT(read_file(cell.folder / "page" / "report.html"), HasSubstr("<title>Holds, but sends"));
  EXPECT_THAT(read_file(cell.folder / "page" / "summary.md"), HasSubstr("Holds, but sends"));
}

TEST_P(NotRecordedKind, IsNoFindingOfARecordThatIsCheckedAlone) {
  TorchCell cell;
  const auto findings = [&] { return predicates::judge_alone(cell.write_candidate()).findings.size(); };
  const auto before = findings();
  std::filesystem::remove_all(cell.folder / "candidate");

  cell.without(GetParam());

  EXPECT_LE(findings(), before);
}

// Rows that are there are compared, though others of their kind are not.
// The kept wrong pipeline, of which every kind is said to be unseen and no row is left: nothing is compared.
TEST(NotRecorded, ARecordWithoutAnyRowsIsIncomplete) {
  TorchCell cell;
  for (const Absent& absent : all_kinds()) cell.without(absent);

  const auto verdict = cell.judge();

  EXPECT_TRUE(verdict.incomplete()) << comparison_text(verdict);
  EXPECT_EQ(acceptable_claims(verdict.checks).size(), 4U);
}

TEST(NotRecorded, TheFirstStepWithoutARowIsNamed) {
  TorchCell cell;
  cell.candidate.erase(&RankRecord::tensors, [](const auto& row) { return row.kind == "gradient" && row.step == 1; });
  cell.candidate.manifest["not_recorded"].push_back({{"what", "gradients"}, {"why", why}, {"from_step", 1}});

  EXPECT_THAT(comparison_text(cell.judge()), HasSubstr("gradients were not compared from step 1 on: "));
}

TEST(NotRecorded, ExistingRowsAreCompared) {
  const auto check_of = [](const char* what, const std::string& check, auto change) {
    TorchCell cell;
    say_not_recorded(cell.candidate.manifest, what);
    change(cell.candidate);
    return result_of(cell.judge(), check).outcome;
  };
  const auto without_receives = [](SyntheticRun& run) {
    without_side("receive")(run);
    boundary_row(run, 1, 2, "forward", "layers.1", "send").digest = other_digest;
  };
  const auto one_receive_is_wrong = [](SyntheticRun& run) {
    boundary_row(run, 1, 2, "forward", "layers.1", "receive").digest = other_digest;
  };
  const auto one_loss_is_wrong = [](SyntheticRun& run) {
    for (auto& row : run.ranks[1].microbatches) {
      if (row.microbatch == 0) row.loss.reset();
      if (row.microbatch == 1) row.loss = 7.0F;
    }
  };
  const auto one_gradient_is_wrong = [](SyntheticRun& run) {
    tensor_row(run, 1, "gradient", "model.norm.weight").digest = other_digest;
    std::erase_if(run.ranks[0].tensors, [](const auto& row) { return row.kind == "gradient"; });
  };
  const auto one_action_is_wrong = [](SyntheticRun& run) { action_row(run, 0, "0B3").action = "0B4"; };

  EXPECT_EQ(check_of("receives", "boundaries", without_receives), Outcome::differs);
  EXPECT_EQ(check_of("receives", "boundaries", one_receive_is_wrong), Outcome::differs);
  EXPECT_EQ(check_of("losses", "loss", one_loss_is_wrong), Outcome::differs);
  EXPECT_EQ(check_of("gradients", "gradients", one_gradient_is_wrong), Outcome::differs);
  EXPECT_EQ(check_of("actions", "conformance", one_action_is_wrong), Outcome::differs);
}

TEST(NotRecorded, OtherRowsMustStillBeThere) {
  TorchCell cell;
  say_not_recorded(cell.candidate.manifest, "receives");
  without_side("send")(cell.candidate);

  const auto boundaries = expect_outcome(cell, "boundaries", Outcome::differs);
  EXPECT_THAT(boundaries.reason, HasSubstr("no send row"));
}

TEST(NotRecorded, AnEmptyStageMayPassOnUnseenTensors) {
  TorchCell cell(with_empty_stage());
  say_not_recorded(cell.candidate.manifest, "receives");
  without_side("receive")(cell.candidate);

  const auto verdict = cell.judge();

  EXPECT_TRUE(verdict.holds) << comparison_text(verdict);
  EXPECT_THAT(checks_that_speak_of(verdict, "not recorded: receives"), Contains("boundaries"));
}

TEST(NotRecorded, SeveralKindsAreInOneSentence) {
  TorchCell cell;
  cell.without(all_kinds()[0]).without(all_kinds()[1]).without(all_kinds()[10]);

  const auto verdict = cell.judge();

  EXPECT_THAT(result_of(verdict, "boundaries").reason,
              StartsWith(std::string("not recorded: sends, receives (") + why));
  EXPECT_THAT(comparison_text(verdict),
              HasSubstr("HOLDS, but sends, receives, rates were not recorded (torch 2.16.0)"));
}

TEST(NotRecorded, TheReasonIsTheRecordersOwnAndTorchIsNamedOnlyInIt) {
  TorchCell cell;
  all_kinds()[0].remove(cell.candidate);
  cell.candidate.manifest["not_recorded"].push_back({{"what", "sends"}, {"why", "record.sent() was given no tensor"}});

  const auto verdict = cell.judge();

  EXPECT_THAT(result_of(verdict, "boundaries").reason,
              StartsWith("not recorded: sends (record.sent() was given no tensor"));
  EXPECT_THAT(comparison_text(verdict), HasSubstr("HOLDS, but sends were not recorded ("));
}

TEST(NotRecorded, AVersionOfTorchThatIsNoneIsNotRepeated) {
  TorchCell cell;
  cell.candidate.manifest["versions"] = {{"torch", "<b>2</b>"}};
  cell.without(all_kinds()[1]);

  EXPECT_THAT(comparison_text(cell.judge()),
              AllOf(HasSubstr("HOLDS, but receives were not recorded"), Not(HasSubstr("<b>"))));
}

TEST(NotRecorded, EveryKindThatACheckNamesIsOneOfTheFormats) {
  for (const auto& check : judging::all_checks()) {
    for (const auto* list : {&check.needs, &check.needs_of_reference, &check.compares_without}) {
      for (const auto& kind : *list) EXPECT_THAT(kinds_of_rows(), Contains(kind)) << check.name;
    }
  }
}

}  // namespace
}  // namespace plumbline::testing
