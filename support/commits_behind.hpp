// SPDX-License-Identifier: BSD-3-Clause
// How far a build is behind the checkout that it is used in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace plumbline {

/// Number of commits of the current checkout's HEAD that `commit` ("53e5aab7c2d1-dirty") lacks; nullopt outside a
/// checkout, or if it does not know the commit.
std::optional<std::int64_t> commits_behind_head(const std::string& commit);

}  // namespace plumbline
