// SPDX-License-Identifier: BSD-3-Clause
#include "training/step_update.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <string>
#include <vector>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/training/parameters.hpp"
#include "training/step_observer.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::numbers_of;
using testing::parameter_of;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Two parameters, the second with this gradient, before the update of step 3.
struct Updated {
  explicit Updated(double gradient) {
    train.steps = 5;
    train.optimizer = testing::sgd(0);
    train.ends_where_not_finite = true;
    parameters = {parameter_of("a", {1}, {1}), parameter_of("b", {1}, {gradient})};
    state = testing::state_of(parameters);
    state.step = 3;
  }
  void end(double norm) {
    end_gradients(train, false, 3, state, nobody, [&] { return norm; });
  }

  TrainSettings train;
  std::vector<Parameter> parameters;
  TrainState state{train.optimizer, {}};
  StepObserver nobody;
};

TEST(EndGradients, NamesTheFirstNonFiniteGradientAndSkipsTheUpdate) {
  Updated updated(infinity);

  EXPECT_THAT(testing::error_of<RunError>([&] { updated.end(infinity); }),
              AllOf(HasSubstr("step 3: the gradients are not finite (norm inf), first in b: ")));

  EXPECT_THAT(numbers_of(updated.parameters[0].value), ElementsAre(1));
  EXPECT_EQ(updated.state.step, 3);
}

TEST(EndGradients, ARankWithFiniteGradientsWaitsForTheOneThatNamesIts) {
  Updated updated(1);
  int sums = 0;
  const auto norm = [&]() -> double {
    if (++sums == 2) throw RunError("rank 1 ended the run: first in c");
    return infinity;
  };

  EXPECT_THAT(
      testing::error_of<RunError>([&] { end_gradients(updated.train, false, 3, updated.state, updated.nobody, norm); }),
      HasSubstr("rank 1 ended the run: first in c"));
}

TEST(EndGradients, ReportsNonFiniteGradientsOfAnotherRank) {
  Updated updated(1);

  EXPECT_THAT(testing::error_of<RunError>([&] { updated.end(infinity); }), HasSubstr("(norm inf), on another rank: "));
  EXPECT_NO_THROW(updated.end(1));
  EXPECT_EQ(updated.state.step, 4);
}

}  // namespace
}  // namespace plumbline
