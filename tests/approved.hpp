// SPDX-License-Identifier: BSD-3-Clause
// Texts that people read, kept in tests/approved and reviewed as text. PLUMBLINE_APPROVE=1 rewrites them.
#pragma once

#include <functional>
#include <string>

#include "tests/temporary_folder.hpp"

namespace plumbline::testing {

/// Expects that tests/approved/`name` contains this text.
void expect_approved(const std::string& name, const std::string& text);

/// tests/approved/`name` contains cases, separated by empty lines: an input, and after "=> " what `answer` returns for
/// it. Expects the same answers. Write a new case without an answer. Lines that begin with "#" are comments.
void expect_answers(const std::string& name, const std::function<std::string(const std::string& input)>& answer);

/// Replaces the folder's path with ".".
std::string in_folder(const TemporaryFolder& folder, std::string text);

}  // namespace plumbline::testing
