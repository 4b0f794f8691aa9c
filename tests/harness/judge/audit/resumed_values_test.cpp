// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/judge/audit/audited_values.hpp"

namespace plumbline::testing {
namespace {

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
              Contains(AllOf(Field(&Finding::level, auditing::part::parameter), Field(&Finding::step, 1),
                             Field(&Finding::item, StartsWith("moment1 model.norm.weight, element 0")))));
}

}  // namespace
}  // namespace plumbline::testing
