// SPDX-License-Identifier: BSD-3-Clause
// Texts that people read, kept in tests/approved and reviewed as text. PLUMBLINE_APPROVE=1 writes them again.
#pragma once

#include <functional>
#include <string>

#include "tests/temporary_folder.hpp"

namespace plumbline::testing {

/// Expects that tests/approved/`name` holds this text.
void expect_approved(const std::string& name, const std::string& text);

/// tests/approved/`name` holds cases between empty lines: an input, and after "=> " what `answer` says of it. Expects
/// the same answers. A new case is written without an answer. Lines that begin with "#" explain.
void expect_answers(const std::string& name, const std::function<std::string(const std::string& input)>& answer);

/// The text with "." in place of the folder.
std::string in_folder(const TemporaryFolder& folder, std::string text);

}  // namespace plumbline::testing
