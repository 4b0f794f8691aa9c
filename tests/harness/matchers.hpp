// SPDX-License-Identifier: BSD-3-Clause
// The usual matchers of googlemock under their own names, which the namespace of the tests hides.
#pragma once

#include <gmock/gmock.h>

namespace plumbline::testing {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

}  // namespace plumbline::testing
