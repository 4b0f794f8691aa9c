// SPDX-License-Identifier: BSD-3-Clause
// The trainers of a sweep, and the launcher's words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumbline {

inline constexpr const char* reference_program = "plumbline-reference";
inline constexpr const char* pipeline_program = "plumbline-pipeline";

/// The reference's option if none of its cases splits the backward pass.
inline constexpr const char* without_split_backward = "--without-split-backward";

/// Help text of the option --trainers.
std::string trainers_help();

/// Words of a command template with {world} filled in.
std::vector<std::string> launcher_words(const std::string& launcher, std::int64_t world);

}  // namespace plumbline
