#include "harness/judge/judgement.hpp"

#include <gmock/gmock.h>

namespace plumbline::testing {
namespace {

using namespace judging;
using ::testing::HasSubstr;

FirstDivergence item(const std::string& name) {
  FirstDivergence divergence;
  divergence.item = name;
  divergence.words = name + " differs";
  return divergence;
}

TEST(Judgement, EmptyComparisonFails) {
  Judgement judgement("loss", "R1", "0 ULP");

  const auto judged = judgement.conclude("all losses agree", {{"losses", 1}});

  EXPECT_EQ(judged.result.outcome, Outcome::fails);
  EXPECT_THAT(judged.result.reason, HasSubstr("looked at 0 losses"));
}

TEST(Judgement, KeepsTheEarliestDivergenceWhateverTheOrderOfFinding) {
  Judgement judgement("gradients", "R3", "0 ULP");
  judgement.diverge(at_gradient(1, 0, 0), item("late"));
  judgement.diverge(at_gradient(0, 4, 1), item("early"));
  judgement.diverge(at_gradient(0, 5, 1), item("next"));

  const auto judged = judgement.conclude("", {});

  EXPECT_EQ(judged.result.first_divergence->item, "early");
  EXPECT_EQ(judged.result.first_divergence->rung, "R3");
  EXPECT_THAT(judged.result.reason, HasSubstr("3 differences in all; in that step: early, next)"));
}

TEST(Judgement, TakesAPartsDivergencesAmongItsOwn) {
  for (const bool part_is_earlier : {false, true}) {
    Judgement whole("memory", "memory", "exact"), part("memory", "memory", "exact");
    whole.diverge(at_gradient(part_is_earlier ? 1 : 0, 0, 0), item("own"));
    part.diverge(at_gradient(part_is_earlier ? 0 : 1, 0, 0), item("of the part"));
    whole.absorb(std::move(part));

    const auto judged = whole.conclude("", {});

    EXPECT_EQ(judged.result.first_divergence->item, part_is_earlier ? "of the part" : "own");
    EXPECT_THAT(judged.result.reason, HasSubstr("2 differences in all"));
  }
}

TEST(Judgement, NoOutcomeHidesADivergence) {
  Judgement judgement("gradient_norm", "R4", "0 ULP");
  judgement.diverge(at_norm(0), item("norm"));

  EXPECT_EQ(judgement.conclude_as(Outcome::not_triggered, "never bit").result.outcome, Outcome::fails);
}

TEST(Judgement, CountsOfWhatWasComparedStandApartFromWhatWasLookedAt) {
  Judgement judgement("loss", "R1", "0 ULP");
  judgement.compare("losses", 3);
  judgement.look_at("losses", 2);
  judgement.compare_or_look_at(true, "sums");
  judgement.compare_or_look_at(false, "sums", 4);

  const auto result = judgement.conclude("", {{"losses", 5}, {"sums", 5}}).result;

  EXPECT_EQ(result.outcome, Outcome::holds) << "a floor is of both";
  EXPECT_EQ(result.compared, (Counts{{"losses", 3}, {"sums", 1}}));
  EXPECT_EQ(result.looked_at, (Counts{{"losses", 2}, {"sums", 4}}));
}

TEST(Judgement, WithoutAnythingThatTellsNothingWasTriggered) {
  Judgement judgement("gradients", "R3", "0 ULP");
  judgement.compare("tensors", 3);
  judgement.compare("nonzero_elements", 0);

  const auto result = judgement.conclude("all agree", {{"tensors", 3}}, {"nonzero_elements"}).result;

  EXPECT_EQ(result.outcome, Outcome::not_triggered);
  EXPECT_THAT(result.reason, HasSubstr("0 nonzero_elements"));
}

TEST(Judgement, ADifferenceFailsEvenWhereNothingTells) {
  Judgement judgement("gradients", "R3", "0 ULP");
  judgement.diverge(at_norm(0), item("norm"));

  EXPECT_EQ(judgement.conclude("", {}, {"nonzero_elements"}).result.outcome, Outcome::fails);
}

TEST(ExecutionOrder, IsThatOfOneDevice) {
  const std::vector<ExecutionPoint> in_order = {at_structure(),
                                                at_structure(Structure::census),
                                                at_structure(Structure::census, 1),
                                                at_structure(Structure::audit),
                                                at_parameter(-1, 0, StateKind::parameter, 0),
                                                at_data(0, 0),
                                                at_forward(0, 0, 0, BoundaryEnd::sent),
                                                at_forward(0, 0, 0, BoundaryEnd::received),
                                                at_forward(0, 0, 1, BoundaryEnd::sent),
                                                at_loss(0, 0),
                                                at_backward(0, 0, 1, BoundaryEnd::sent),
                                                at_backward(0, 0, 0, BoundaryEnd::sent),
                                                at_data(0, 1),
                                                at_loss(0, 1),
                                                at_step_loss(0),
                                                at_gradient(0, 0, 0),
                                                at_gradient(0, 1, 0),
                                                at_norm(0),
                                                at_norm(0, NormPart::clip_coefficient),
                                                at_learning_rate(0),
                                                at_parameter(0, 0, StateKind::parameter, 1),
                                                at_parameter(0, 0, StateKind::moment1, 0),
                                                at_parameter(0, 1, StateKind::parameter, 0),
                                                at_data(1, 0),
                                                beside(-1, Beside::whole_record, 0),
                                                beside(0, Beside::state_of_rank, 1),
                                                beside(0, Beside::leak, 0),
                                                beside_action(0, 0, 0),
                                                beside_action(0, 0, 1),
                                                beside_action(0, 1, 0),
                                                beside(0, Beside::activation_peak, 0),
                                                at_the_end()};

  for (std::size_t i = 1; i < in_order.size(); ++i) EXPECT_LT(in_order[i - 1], in_order[i]) << i;
}

}  // namespace
}  // namespace plumbline::testing
