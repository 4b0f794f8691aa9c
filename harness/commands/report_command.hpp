// SPDX-License-Identifier: BSD-3-Clause
// `plumbline report`: pages of what has been judged already.
#pragma once

#include <CLI/App.hpp>
#include <filesystem>
#include <functional>

namespace plumbline {

/// Adds it to `app`; the result runs what was chosen.
std::function<int()> add_report_command(CLI::App& app);

/// The page of two sweeps' folders, which is to lie at `out` and leads to theirs. Values are compared as with a
/// baseline. Throws InputError where one of them is no sweep's.
std::string comparison_page(const std::filesystem::path& before, const std::filesystem::path& now,
                            const std::filesystem::path& out = "comparison.html");

}  // namespace plumbline
