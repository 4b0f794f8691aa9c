// Values against values: what the dumps of a whole training must hold, and what one that is not there says.
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "harness/judge/audit/audit.hpp"
#include "record/digest.hpp"
#include "record/rank_folder.hpp"
#include "support/numbers.hpp"
#include "support/safetensors.hpp"
#include "tests/harness/judge/audit/trained_run.hpp"

namespace plumbline::testing {
namespace {

using auditing::Audit;
using auditing::audit_record;
using auditing::Finding;
using auditing::words_of;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::EndsWith;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

const std::string norm_weight = "model.norm.weight";  // 4 elements, on rank 1 of two

class AuditedValues : public ::testing::Test {
 protected:
  using Path = std::filesystem::path;
  using Tensors = std::map<std::string, SafetensorsEntry>;

  Path write() { return trained.write(folder_ / std::to_string(++written_)); }

  /// Writes the record's tables once more, in a folder of its own with the same dumps.
  Path with_tables(const Path& record, const std::function<void(SyntheticRun&)>& change) {
    SyntheticRun run = trained.run;
    change(run);
    const Path folder = folder_ / std::to_string(++written_);
    write_run(run, folder);
    for (const RankRecord& rank : run.ranks) {
      std::filesystem::copy(record / rank_folder(rank.rank) / "dumps", folder / rank_folder(rank.rank) / "dumps");
    }
    return folder;
  }

  /// Writes a dump anew, with other tensors.
  static void change_dump(const Path& record, const std::string& name, const std::function<void(Tensors&)>& change) {
    const SafetensorsFile file(record / name);
    Tensors tensors = file.entries();
    change(tensors);
    std::vector<NamedBytes> named;
    for (const auto& [key, entry] : tensors) named.push_back({key, entry});
    write_safetensors(record / name, named);
  }

  static void leave_out(const Path& record, const std::string& name, const std::string& key) {
    change_dump(record, name, [&](Tensors& tensors) { ASSERT_EQ(tensors.erase(key), 1U) << key; });
  }

  static void expect_none(const Path& record) {
    for (const Finding& finding : audit_record(record).findings) ADD_FAILURE() << words_of(finding);
  }

  /// Nothing but this: where it stands, and what was expected and got.
  static void expect_one(const Path& record, auditing::Place place, const std::string& where,
                         const std::string& numbers) {
    const Audit found = audit_record(record);
    for (const Finding& finding : found.findings) {
      EXPECT_EQ(finding.place, place) << words_of(finding);
      EXPECT_THAT(words_of(finding), AllOf(StartsWith(where), EndsWith(numbers)));
    }
    EXPECT_THAT(found.findings, SizeIs(1)) << where;
  }

  TrainedRun trained{synthetic_candidate(trained_plan("adamw", /*tied=*/false))};

 private:
  TemporaryFolder folder_;
  int written_ = 0;
};

std::string line_of(const SyntheticRun& run, const TensorRow& row) {
  for (const RankRecord& rank : run.ranks) {
    const auto distance = &row - rank.tensors.data();
    if (distance >= 0 && distance < std::ssize(rank.tensors))
      return "rank-" + std::to_string(rank.rank) + "/tensors.csv:" + std::to_string(distance + 2);
  }
  throw std::logic_error("no row of this run");
}

TEST_F(AuditedValues, ATensorThatWasNotDumpedIsRedInItsRow) {
  const auto record = write();
  leave_out(record, "rank-1/dumps/step-1.safetensors", "moment2/" + norm_weight);
  const TensorRow& row = tensor_row(trained.run, 1, "moment2", norm_weight);

  expect_one(record, auditing::Place::parameter,
             line_of(trained.run, row) + ": step 1, rank 1, digest of moment2 model.norm.weight: ",
             "(expected none, got " + row.digest + ")");
}

TEST_F(AuditedValues, AGradientThatWasNotDumpedMakesNoNorm) {
  const auto record = write();
  leave_out(record, "rank-1/dumps/step-1.safetensors", "gradient/" + norm_weight);

  const Audit found = audit_record(record);

  EXPECT_THAT(found.findings, Contains(Field(&Finding::item, "digest of gradient model.norm.weight")));
  EXPECT_THAT(found.findings, Each(Field(&Finding::item, Not("gradient_norm"))));
}

TEST_F(AuditedValues, ATensorWithoutARowIsRed) {
  const auto record = write();
  change_dump(record, "rank-1/dumps/step-1.safetensors", [](Tensors& tensors) {
    tensors["moment2/model.other.weight"] = tensors.at("moment2/" + norm_weight);
    tensors["gradient_after/0/" + norm_weight] = tensors.at("moment2/" + norm_weight);  // is allowed
  });

  expect_one(record, auditing::Place::structure,
             "rank-1/dumps/step-1.safetensors: step 1, rank 1, moment2/model.other.weight: a tensor was dumped",
             "(expected a row of tensors.csv or boundaries.csv, got none)");
}

TEST_F(AuditedValues, ABoundaryThatWasNotDumpedIsRedInItsRow) {
  for (const auto& [direction, place] : {std::pair{std::string("forward"), auditing::Place::forward},
                                         std::pair{std::string("backward"), auditing::Place::backward}}) {
    const auto record = write();
    const std::string side = direction == "forward" ? "receive" : "send";
    leave_out(record, "rank-1/dumps/step-1.safetensors", "boundary/" + direction + "/3/layers.1/" + side);
    const BoundaryRow& row = boundary_row(trained.run, 1, 3, direction, "layers.1", side);
    const auto line = &row - trained.run.ranks[1].boundaries.data() + 2;

    expect_one(record, place,
               "rank-1/boundaries.csv:" + std::to_string(line) + ": step 1, microbatch 3, rank 1, digest of the " +
                   direction + " boundary at layers.1, side " + side,
               "(expected none, got " + row.digest + ")");
  }
}

/// A digest says nothing of the row's other columns.
TEST_F(AuditedValues, ABoundaryOfAnotherShapeThanItsRowSaysIsRed) {
  const auto record = with_tables(write(), [](SyntheticRun& run) {
    for (const char* side : {"send", "receive"}) boundary_row(run, 1, 3, "forward", "layers.1", side).shape = {3, 1, 4};
  });

  const Audit found = audit_record(record);

  ASSERT_THAT(found.findings, SizeIs(2));
  for (const Finding& finding : found.findings) {
    EXPECT_EQ(finding.expected, "float32 1x3x4");
    EXPECT_EQ(finding.got, "float32 3x1x4");
  }
}

TEST_F(AuditedValues, ATensorOfAnotherShapeThanItsRowSaysIsRedInItsShape) {
  const auto record = with_tables(write(), [](SyntheticRun& run) {
    TensorRow& row = tensor_row(run, 1, "moment1", norm_weight);
    row.shape = {2, 2}, row.nonzero_rows = 2;
  });

  const Audit found = audit_record(record);

  EXPECT_THAT(found.findings, Contains(AllOf(Field(&Finding::item, "shape of moment1 model.norm.weight"),
                                             Field(&Finding::expected, "4"), Field(&Finding::got, "2x2"))));
}

/// Told as another shape, and nothing is computed with it.
TEST_F(AuditedValues, ADumpOfFewerElementsThanItsRowSaysIsRedInItsShapeAlone) {
  for (const std::string kind : {"gradient", "parameter", "moment1", "moment2"}) {
    const auto record = write();
    change_dump(record, "rank-1/dumps/step-0.safetensors", [&](Tensors& tensors) {
      SafetensorsEntry& entry = tensors.at(kind + "/" + norm_weight);
      entry.shape = {2}, entry.bytes = entry.bytes.first(8);
    });

    const Audit found = audit_record(record);

    EXPECT_THAT(found.findings, Contains(AllOf(Field(&Finding::item, "shape of " + kind + " " + norm_weight),
                                               Field(&Finding::expected, "2"), Field(&Finding::got, "4"))));
    EXPECT_THAT(found.findings, Each(Field(&Finding::item, Not(HasSubstr("element"))))) << kind;
  }
}

/// 0 nan, 1 inf, and two numbers.
void make_not_finite(std::vector<std::byte>& bytes) {
  const float spoilt[] = {std::nanf(""), -std::numeric_limits<float>::infinity()};
  std::memcpy(bytes.data(), spoilt, sizeof spoilt);
}

TEST_F(AuditedValues, WhatIsNotFiniteIsCountedAndMakesAStatisticOfItsOwn) {
  const auto record = write();
  std::vector<std::byte> bytes;
  change_dump(record, "rank-1/dumps/step-1.safetensors", [&](Tensors& tensors) {
    SafetensorsEntry& entry = tensors.at("moment2/" + norm_weight);
    bytes.assign(entry.bytes.begin(), entry.bytes.end());
    make_not_finite(bytes);
    entry.bytes = bytes;
  });

  const Audit found = audit_record(record);

  const auto tells = [](const std::string& column, const std::string& expected) {
    return Contains(
        AllOf(Field(&Finding::item, column + " of moment2 model.norm.weight"), Field(&Finding::expected, expected)));
  };
  EXPECT_THAT(found.findings, AllOf(tells("nan", "1"), tells("inf", "1"), tells("max_abs", "nan"), tells("l2", "nan")));

  EXPECT_THAT(found.findings,
              Contains(AllOf(Field(&Finding::item, "moment2 model.norm.weight, element 0"), Field(&Finding::stage, 1),
                             Field(&Finding::file, "rank-1/dumps/step-1.safetensors"))))
      << "no update leaves that";

  const auto told = with_tables(record, [&](SyntheticRun& run) {
    TensorRow& row = tensor_row(run, 1, "moment2", norm_weight);
    row.nan = row.inf = 1;
    row.l2 = std::nan("");
    row.max_abs = std::nanf("");
    row.digest = tensor_digest("float32", {4}, bytes);
  });
  EXPECT_THAT(audit_record(told).findings, Each(Field(&Finding::item, Not(HasSubstr(" of moment2")))))
      << "a row that tells it is right, whatever the update made of it";
}

/// The n that (n + 2) 2^-53 counts.
std::int64_t gradient_elements(const SyntheticRun& run) {
  std::int64_t sum = 0;
  for (const RankRecord& rank : run.ranks) {
    for (const TensorRow& row : rank.tensors) {
      std::int64_t elements = row.step == 1 && row.kind == "gradient" ? 1 : 0;
      for (const auto size : row.shape) elements *= size;
      sum += elements;
    }
  }
  return sum;
}

TEST_F(AuditedValues, TheNormIsThatOfTheDumpedGradientsToTheRoundingsOfItsSum) {
  const auto dumped = write();
  const auto with_norm_off = [&](double roundings) {
    return with_tables(dumped, [&](SyntheticRun& run) {
      const auto elements = static_cast<double>(gradient_elements(run));
      for (RankRecord& rank : run.ranks) *rank.steps[1].gradient_norm *= 1 + roundings * (elements + 2) * 0x1p-53;
    });
  };
  expect_none(with_norm_off(0.9));

  const double norm = *trained.run.ranks[0].steps[1].gradient_norm;
  const Audit found = audit_record(with_norm_off(1.1));

  ASSERT_THAT(found.findings, SizeIs(1)) << "below what the table of l2 shows";
  const Finding& finding = found.findings[0];
  EXPECT_EQ(finding.place, auditing::Place::norm);
  EXPECT_THAT(words_of(finding),
              StartsWith("rank-0/steps.csv:3: step 1, rank 0, gradient_norm: it is not the norm of"));
  EXPECT_NEAR(parse_double(finding.expected).value_or(0), norm, 1e-14);
  EXPECT_NE(finding.got, finding.expected);
}

TEST_F(AuditedValues, OfAnotherTrainerStatisticsMayBeComputedInAnyWay) {
  const auto record = with_tables(write(), [](SyntheticRun& run) {
    run.manifest["role"] = "external";
    for (RankRecord& rank : run.ranks) {
      for (TensorRow& row : rank.tensors) row.l2 *= 1.001, row.max_abs *= 1.001F;
    }
  });
  const Audit found = audit_record(record);

  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_THAT(found.not_audited, ::testing::ElementsAre(HasSubstr("an external trainer may compute these in any way")));
  EXPECT_TRUE(found.from_values);
}

TEST_F(AuditedValues, OfAnotherTrainerANormSummedRankByRankIsHeldWithinTheRoundingsOfItsSum) {
  const auto dumped = write();
  const double norm = *trained.run.ranks[0].steps[1].gradient_norm;  // below the limit: the coefficient is 1
  const auto found = [&](double other, const std::string& order) {
    const auto record = with_tables(dumped, [&](SyntheticRun& run) {
      run.manifest["role"] = "external";
      run.manifest["norm_order"] = order;
      for (RankRecord& rank : run.ranks) rank.steps[1].gradient_norm = other;
    });
    return audit_record(record).findings;
  };
  const auto in_float32 = static_cast<double>(static_cast<float>(norm));

  EXPECT_THAT(found(in_float32, "per_rank"), IsEmpty());
  // 21 tensors, the largest of 32 elements, in float32: (21 + 4 sqrt(32)) 2^-24 = 2.6e-6.
  EXPECT_THAT(found(norm * (1 + 2e-6), "per_rank"), IsEmpty());
  EXPECT_THAT(found(norm * (1 + 4e-6), "per_rank"), SizeIs(1));
  EXPECT_THAT(found(in_float32, "canonical"), SizeIs(1));
}

TEST_F(AuditedValues, OfAnotherTrainerCountsAreThoseOfItsValues) {
  const auto record = with_tables(write(), [](SyntheticRun& run) {
    run.manifest["role"] = "external";
    tensor_row(run, 1, "moment1", norm_weight).nonzero = 3;
  });

  expect_one(
      record, auditing::Place::parameter,
      line_of(trained.run, tensor_row(trained.run, 1, "moment1", norm_weight)) + ": step 1, rank 1, nonzero of moment1",
      "(expected 4, got 3)");
}

TEST_F(AuditedValues, OfAnotherTrainerWithoutANormAndClippingNothingIsMissed) {
  trained.clip_norm = 1e9;  // does not bite
  const auto record = with_tables(write(), [](SyntheticRun& run) {
    run.manifest["role"] = "external";
    run.manifest["clip_norm"] = nullptr;
    for (RankRecord& rank : run.ranks) {
      for (StepRow& row : rank.steps) row.gradient_norm.reset(), row.clip_coefficient.reset();
    }
  });
  const Audit found = audit_record(record);

  for (const Finding& finding : found.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_GT(found.recomputed.at("updated_elements"), 0) << "each step's updates, with coefficient 1";
}

TEST_F(AuditedValues, AStepWithoutARateIsNotUpdatedByAnother) {
  const auto record = with_tables(write(), [](SyntheticRun& run) {
    run.manifest["role"] = "external";
    run.manifest["learning_rate_schedule"] = nullptr;
    for (RankRecord& rank : run.ranks) rank.steps[1].learning_rate.reset();
  });
  const Audit found = audit_record(record);

  for (const Finding& finding : found.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_THAT(found.not_audited, Contains(HasSubstr("the manifest does not say how the rate goes on")));
}

/// Whatever the optimiser keeps of others, of a parameter without gradient it keeps nothing.
class Untrained : public AuditedValues, public ::testing::WithParamInterface<const char*> {
 protected:
  Untrained() {
    const bool plain = std::string(GetParam()) == "sgd_without_momentum";
    trained.run = synthetic_candidate(trained_plan(plain ? "sgd" : GetParam(), false));
    trained.untrained = {norm_weight};
    if (!plain) return;
    trained.run.manifest["optimizer"]["momentum"] = 0.0;
    for (RankRecord& rank : trained.run.ranks)
      std::erase_if(rank.tensors, [](const auto& row) { return row.kind == "moment1"; });
  }
  void freeze() { trained.run.manifest["frozen"] = {norm_weight}; }
  void external() { trained.run.manifest["role"] = "external"; }
  std::string line() { return line_of(trained.run, tensor_row(trained.run, 0, "parameter", norm_weight)); }
};

INSTANTIATE_TEST_SUITE_P(, Untrained, ::testing::Values("sgd_without_momentum", "sgd", "adamw"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Untrained, FrozenIsWhatItWas) {
  freeze();

  expect_none(write());
}

TEST_P(Untrained, FrozenAndMovedIsRedWhereItMoved) {
  freeze();
  trained.mistake = Mistake::untrained_moves;
  for (const bool of_another : {false, true}) {
    if (of_another) external();

    expect_one(write(), auditing::Place::parameter,
               "rank-1/dumps/step-1.safetensors: step 1, rank 1, parameter model.norm.weight, element 3: it is frozen, "
               "and moved, in 1 of 4 elements",
               "(expected 1, got 1.25)");
  }
}

TEST_P(Untrained, WithoutAGradientAndNotFrozenIsRedInEachStep) {
  const Audit found = audit_record(write());

  ASSERT_THAT(found.findings, SizeIs(synthetic_steps));
  EXPECT_THAT(words_of(found.findings[0]),
              AllOf(StartsWith(line() + ": step 0, rank 1, parameter model.norm.weight: nothing says how it was"),
                    EndsWith("(expected a gradient, or its name in `frozen`, got neither)")));
}

/// One that no loss of the step depends on is passed over by others' optimisers.
TEST_P(Untrained, OfAnotherTrainerMayStayWithoutAGradient) {
  external();

  expect_none(write());
}

TEST_P(Untrained, OfAnotherTrainerMayNotMoveWithoutAGradient) {
  external();
  trained.mistake = Mistake::untrained_moves;

  const Audit found = audit_record(write());

  EXPECT_THAT(found.findings, Contains(AllOf(Field(&Finding::step, 1), Field(&Finding::got, "neither"))));
  EXPECT_THAT(found.findings, Each(Field(&Finding::step, 1)));
}

class AuditedCopies : public AuditedValues {
 protected:
  AuditedCopies() { trained.mixed = true; }
  /// Tables alone.
  std::filesystem::path with_full_tables(const std::function<void(SyntheticRun&)>& change) {
    return with_tables(write(), [&](SyntheticRun& run) {
      run.manifest["level"] = "full";
      change(run);
    });
  }
};

TEST_F(AuditedCopies, AreTheirMastersRounded) {
  const auto record = write();
  const Audit found = audit_record(record);

  for (const Finding& finding : found.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_TRUE(found.from_values);
}

TEST_F(AuditedCopies, ThatAreTruncatedAreRedFromTheStartOnInTheFirstSuchElement) {
  trained.mistake = Mistake::copies_truncated;

  const Audit found = audit_record(write());

  EXPECT_THAT(found.findings,
              Contains(AllOf(Field(&Finding::step, -1), Field(&Finding::place, auditing::Place::parameter),
                             Field(&Finding::item, "copy lm_head.weight, element 1"),
                             Field(&Finding::file, HasSubstr("rank-1/tensors.csv:")))));
  EXPECT_THAT(found.findings, Each(Field(&Finding::why, "a copy is its master rounded once to bfloat16")));
}

TEST_F(AuditedCopies, OfAnotherTrainerAreHeldToTheirValuesToo) {
  trained.run.manifest["role"] = "external";
  expect_none(write());

  trained.mistake = Mistake::copies_truncated;
  EXPECT_THAT(audit_record(write()).findings, Not(IsEmpty()));
}

TEST_F(AuditedCopies, HaveTheirMastersLargestRoundedInTheTablesAlone) {
  expect_none(with_full_tables([](SyntheticRun&) {}));
  const auto wrong =
      with_full_tables([](SyntheticRun& run) { tensor_row(run, 1, "copy", norm_weight).max_abs = 0.75F; });
  const TensorRow& row = tensor_row(trained.run, 1, "copy", norm_weight);

  expect_one(wrong, auditing::Place::parameter,
             line_of(trained.run, row) + ": step 1, rank 1, max_abs of copy model.norm.weight: a copy is",
             "(expected " + to_text(static_cast<double>(row.max_abs)) + ", got 0.75)");
}

TEST_F(AuditedCopies, OfAnotherTrainerMayHaveAnyLargestInTheTables) {
  trained.run.manifest["role"] = "external";

  expect_none(with_full_tables([](SyntheticRun& run) { tensor_row(run, 1, "copy", norm_weight).max_abs = 0.75F; }));
}

TEST_F(AuditedCopies, OfAMasterThatIsNotFiniteHaveNoLargest) {
  for (const auto count : {&TensorRow::nan, &TensorRow::inf}) {
    expect_none(with_full_tables([&](SyntheticRun& run) {
      tensor_row(run, 1, "parameter", norm_weight).*count = 1;
      tensor_row(run, 1, "copy", norm_weight).max_abs = 0.75F;
    }));
  }
}

TEST_F(AuditedCopies, WithoutAMasterIsRed) {
  const auto record = with_full_tables([](SyntheticRun& run) {
    std::erase_if(run.ranks[1].tensors,
                  [](const auto& row) { return row.step == 1 && row.kind == "parameter" && row.name == norm_weight; });
  });

  const Audit found = audit_record(record);

  ASSERT_THAT(found.findings, SizeIs(1));
  EXPECT_THAT(words_of(found.findings[0]), AllOf(HasSubstr("step 1, rank 1, copy model.norm.weight"),
                                                 EndsWith("(expected a master beside it, got none)")));
}

/// A run that was gone on with after its first step: its start holds moments.
class GoneOnWith : public AuditedValues, public ::testing::WithParamInterface<const char*> {
 protected:
  /// The second step of `trained`, as a record of its own.
  Path second_step() {
    const auto whole = write();
    const Path second = whole.parent_path() / "second";
    SyntheticRun run = trained.run;
    begin_with_second_step(run);
    write_run(run, second);
    for (const RankRecord& rank : run.ranks) {
      const Path from = whole / rank_folder(rank.rank) / "dumps", to = second / rank_folder(rank.rank) / "dumps";
      std::filesystem::create_directories(to);
      std::filesystem::copy(from / "step-1.safetensors", to / "step-1.safetensors");
      std::filesystem::copy(from / "step-0.safetensors", to / "step-initial.safetensors");
      change_dump(to, "step-initial.safetensors", [](Tensors& tensors) {
        std::erase_if(tensors, [](const auto& each) {
          return each.first.starts_with("gradient") || each.first.starts_with("boundary");
        });
      });
    }
    return second;
  }
};

INSTANTIATE_TEST_SUITE_P(, GoneOnWith, ::testing::Values("adamw", "sgd"));

TEST_P(GoneOnWith, FollowsFromTheMomentsOfItsStart) {
  trained.run = synthetic_candidate(trained_plan(GetParam(), false));
  const Audit found = audit_record(second_step());

  for (const Finding& finding : found.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_TRUE(found.from_values);
  EXPECT_GT(found.recomputed.at("updated_elements"), 0);
}

TEST_P(GoneOnWith, ButNotTakenIsRed) {
  trained.run = synthetic_candidate(trained_plan(GetParam(), false));
  trained.mistake = Mistake::no_update;

  EXPECT_THAT(audit_record(second_step()).findings,
              Contains(AllOf(Field(&Finding::place, auditing::Place::parameter), Field(&Finding::step, 1),
                             Field(&Finding::item, StartsWith("moment1 model.norm.weight, element 0")))));
}

class TiedUses : public AuditedValues {
 protected:
  TiedUses() { trained.run = synthetic_candidate(trained_plan("sgd", /*tied=*/true)); }
};

TEST_F(TiedUses, ThatWereNotDumpedAreToldAsNotAudited) {
  const auto record = write();
  leave_out(record, "rank-1/dumps/step-1.safetensors", "gradient_use/lm_head.weight");

  const Audit found = audit_record(record);

  for (const Finding& finding : found.findings) ADD_FAILURE() << words_of(finding);
  EXPECT_THAT(found.not_audited, ::testing::ElementsAre(HasSubstr("they were not dumped (gradient_use/)")));
  EXPECT_EQ(found.recomputed.at("tied_sums"), 2) << "of the other step, on both ranks";
}

TEST_F(TiedUses, OfTwoShapesAreToldAsNotAudited) {
  const auto record = write();
  change_dump(record, "rank-1/dumps/step-1.safetensors", [](Tensors& tensors) {
    SafetensorsEntry& use = tensors.at("gradient_use/lm_head.weight");
    use.shape = {2, 4}, use.bytes = use.bytes.first(32);
  });

  EXPECT_THAT(audit_record(record).not_audited, ::testing::ElementsAre(HasSubstr("were not dumped (gradient_use/)")));
}

TEST_F(TiedUses, ASumOfFewerElementsIsRedInItsShapeAlone) {
  const auto record = write();
  change_dump(record, "rank-1/dumps/step-1.safetensors", [](Tensors& tensors) {
    SafetensorsEntry& sum = tensors.at("gradient/lm_head.weight");
    sum.shape = {2, 4}, sum.bytes = sum.bytes.first(32);
  });

  EXPECT_THAT(audit_record(record).findings, Each(Field(&Finding::item, "shape of gradient lm_head.weight")));
}

TEST_F(TiedUses, ThatAreNotAddedAreRedOnEachRankInTheFirstSuchElement) {
  trained.mistake = Mistake::tied_use_dropped;

  const Audit found = audit_record(write());

  std::vector<Finding> sums;
  std::copy_if(found.findings.begin(), found.findings.end(), std::back_inserter(sums),
               [](const Finding& finding) { return finding.why.starts_with("it is not the sum of the tied"); });
  ASSERT_THAT(sums, SizeIs(2 * synthetic_steps));
  EXPECT_EQ(sums[0].file, "rank-0/dumps/step-0.safetensors");
  EXPECT_EQ(sums[0].item, "gradient model.embed_tokens.weight, element 0");
  EXPECT_EQ(sums[0].place, auditing::Place::gradient);
  EXPECT_THAT(sums[0].why, EndsWith("in 24 of 32 elements"));
  EXPECT_EQ(sums[3].file, "rank-1/dumps/step-1.safetensors");
  EXPECT_EQ(sums[3].item, "gradient lm_head.weight, element 0");
  EXPECT_EQ(sums[3].rank, 1);
  EXPECT_NE(sums[3].expected, sums[3].got);
}

}  // namespace
}  // namespace plumbline::testing
