// SPDX-License-Identifier: BSD-3-Clause
// `plumbline report`: pages of existing verdicts.
#pragma once

#include <CLI/App.hpp>
#include <filesystem>
#include <functional>

namespace plumbline {

/// Adds it to `app`. The returned function runs it after parsing.
std::function<int()> add_report_command(CLI::App& app);

/// The page on two sweeps' folders, to be written at `out`, with links to their pages. Values are compared as with a
/// baseline. Throws InputError if one of them is not a sweep's folder.
std::string comparison_page(const std::filesystem::path& before, const std::filesystem::path& now,
                            const std::filesystem::path& out = "comparison.html");

}  // namespace plumbline
