// SPDX-License-Identifier: BSD-3-Clause
#include "training/step_update.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "support/error.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/training/parameters.hpp"
#include "training/step_observer.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::numbers_of;
using testing::parameter_of;

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Two parameters, the second with this gradient, before the update of step 3.
struct Updated {
  explicit Updated(double gradient) {
    run.train.steps = 5;
    run.train.optimizer = testing::sgd(0);
    run.config.tied = false;
    run.stops_where_not_finite = true;
    parameters = {parameter_of("a", {1}, {1}), parameter_of("b", {1}, {gradient})};
    state = testing::state_of(parameters);
    state.step = 3;
  }
  void end(double norm) {
    end_gradients(run, 3, state, no_observer, [&] { return norm; });
  }

  plumbline::Run run = load_run(testing::fixtures_path() + "/runs/quick.toml");
  std::vector<Parameter> parameters;
  TrainState state{run.train.optimizer, {}};
  StepObserver no_observer;
};

/// The parameter that the error names.
std::string first_in(const std::function<void()>& body) {
  try {
    body();
  } catch (const NotFinite& error) {
    return error.first_in;
  }
  return "nothing was thrown";
}

TEST(EndGradients, NamesTheFirstNonFiniteGradientAndSkipsTheUpdate) {
  Updated updated(infinity);

  EXPECT_EQ(testing::error_of<NotFinite>([&] { updated.end(infinity); }),
            "step 3: the gradients are not finite (norm inf)");
  EXPECT_EQ(first_in([&] { updated.end(infinity); }), "b");

  EXPECT_THAT(numbers_of(updated.parameters[0].value), ElementsAre(1));
  EXPECT_EQ(updated.state.step, 3);
}

TEST(EndGradients, ARankWithFiniteGradientsNamesNoParameter) {
  Updated updated(1);

  EXPECT_THAT(first_in([&] { updated.end(infinity); }), IsEmpty());
  EXPECT_NO_THROW(updated.end(1));
  EXPECT_EQ(updated.state.step, 4);
}

}  // namespace
}  // namespace plumbline
