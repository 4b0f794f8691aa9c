// SPDX-License-Identifier: BSD-3-Clause
// Changes to the files of a record, in the notation of the cases of tests/approved (see
// tests/approved/verdicts/README.md).
#pragma once

#include <filesystem>
#include <string>

namespace plumbline::testing {

/// A digest that no row of our records has.
inline const std::string other_digest = "0123456789abcdef0123456789abcdef";

/// Applies one line: changes of rows, of JSON keys, or of files.
void change_record(const std::filesystem::path& record, const std::string& line);

}  // namespace plumbline::testing
