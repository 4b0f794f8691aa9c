// `plumbline report`: pages of what has been judged already.
#pragma once

#include <CLI/App.hpp>
#include <filesystem>
#include <functional>

namespace plumbline {

/// Adds it to `app`; the result runs what was chosen.
std::function<int()> add_report_command(CLI::App& app);

/// The page of two sweeps' folders. Values are compared as with a baseline, where both sweeps hold. Throws InputError
/// where one of them is no sweep's.
std::string comparison_page(const std::filesystem::path& before, const std::filesystem::path& now);

}  // namespace plumbline
