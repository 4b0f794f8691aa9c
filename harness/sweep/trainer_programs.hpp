// SPDX-License-Identifier: BSD-3-Clause
// The programs that a sweep starts, and the words of the launcher before them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumbline {

inline constexpr const char* reference_program = "plumbline-reference";
inline constexpr const char* pipeline_program = "plumbline-pipeline";

/// The reference's option where none of the cells that it serves splits the backward pass.
inline constexpr const char* without_split_backward = "--without-split-backward";

/// What the option --trainers takes.
std::string trainers_help();

/// Words of a command template, {world} put in.
std::vector<std::string> launcher_words(const std::string& launcher, std::int64_t world);

}  // namespace plumbline
