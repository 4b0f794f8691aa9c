// SPDX-License-Identifier: BSD-3-Clause
// One body on all ranks of a transport. `Ranks` runs it: `world_size()` and `run(settings, ending, body)`.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "pipeline/transport/transport.hpp"
#include "support/error.hpp"
#include "tests/pipeline/transport/ranks.hpp"

namespace plumbline {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr TransportSettings patient{120s};
/// A short deadline that is meant to pass.
constexpr TransportSettings hasty{150ms};
/// For one rank's deadline, which must pass after the other rank has its answer, even on a loaded machine.
constexpr TransportSettings short_of_patience{3s};

template <typename Ranks>
class TransportSuite : public ::testing::Test {
 protected:
  void run(const Body& body) { Ranks::run(patient, Ending::clean, body); }
  void run_broken(TransportSettings settings, const Body& body) { Ranks::run(settings, Ending::broken, body); }
  static int world() { return Ranks::world_size(); }
};
TYPED_TEST_SUITE_P(TransportSuite);

}  // namespace plumbline
