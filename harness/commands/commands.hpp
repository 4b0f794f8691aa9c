// SPDX-License-Identifier: BSD-3-Clause
// The subcommands of `plumbline`. Each function adds one, and returns the function that runs it after parsing and
// returns its exit code.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "support/json.hpp"

namespace CLI {
class App;
}

namespace plumbline {

/// `trainers`: the folder of Plumbline's own.
std::function<int()> add_init_command(CLI::App& app, const std::filesystem::path& trainers);
/// `program`: as the user calls it; `trainers`: the default folder of the trainers; `harness`: version and commit of
/// this program.
std::function<int()> add_sweep_command(CLI::App& app, const std::string& program, const std::filesystem::path& trainers,
                                       const Json& harness);
std::function<int()> add_compare_command(CLI::App& app, const Json& harness);
std::function<int()> add_judge_command(CLI::App& app, const Json& harness);
std::function<int()> add_merge_command(CLI::App& app, const Json& harness);
std::function<int()> add_report_command(CLI::App& app);
std::function<int()> add_doctor_command(CLI::App& app, const std::filesystem::path& trainers);
std::function<int()> add_schedule_command(CLI::App& app);
std::function<int()> add_calibrate_command(CLI::App& app, const std::filesystem::path& trainers);
std::function<int()> add_record_command(CLI::App& app);

/// `plumbline record show`: a summary of a record, which it reads strictly, step by step. Throws InputError for what is
/// not a record by docs/record-format.md.
std::string shown_record(const std::filesystem::path& path);
/// Hands each line of the record's facts to `line`: CSV with a header, step by step from the start (-1), in the order
/// of execution. These are what the judge compares.
void show_facts(const std::filesystem::path& path, const std::function<void(const std::string&)>& line);

/// `plumbline record rules`: what the judge requires of each role, from its checks' descriptors and the record's
/// tables; with --markdown the part of docs/checks.md on each check.
std::string rules_text();
std::string checks_in_markdown();

}  // namespace plumbline
