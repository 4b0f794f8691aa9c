// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "harness/judge/comparability.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::judging {
namespace {

Manifest with(const Json& versions) {
  Manifest manifest;
  manifest.json = {{"versions", versions}};
  return manifest;
}

TEST(OtherTorch, IsNamedWithItsOneDnn) {
  EXPECT_EQ(why_other_torch(with({{"libtorch", "2.11.0"}, {"onednn", "3.10.2"}}),
                            with({{"libtorch", "2.15.0"}, {"onednn", "3.13.3"}})),
            "torch 2.11.0 against 2.15.0 (oneDNN 3.10.2, 3.13.3)");
  EXPECT_EQ(why_other_torch(with({{"torch", "2.11.0+cpu"}}), with({{"libtorch", "2.15.0"}, {"onednn", "3.13.3"}})),
            "torch 2.11.0 against 2.15.0");
}

TEST(OtherTorch, EqualOrUnknownVersionsAreNotReported) {
  EXPECT_EQ(why_other_torch(with({{"torch", "2.15.0+cu132"}}), with({{"libtorch", "2.15.0"}})), std::nullopt);
  EXPECT_EQ(why_other_torch(with(Json::object()), with({{"libtorch", "2.15.0"}})), std::nullopt);
  EXPECT_EQ(why_other_torch(Manifest{}, with({{"libtorch", "2.15.0"}})), std::nullopt);
  EXPECT_EQ(why_other_torch(with({{"torch", 2}}), with({{"libtorch", "2.15.0"}})), std::nullopt);
}

}  // namespace
}  // namespace plumbline::judging
