// SPDX-License-Identifier: BSD-3-Clause
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>

#include "command_line/command_line.hpp"
#include "harness/commands/commands.hpp"
#include "harness/commands/record_check.hpp"
#include "record/record.hpp"
#include "reports/trace/trace.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/terminal.hpp"

namespace plumbline {
namespace {

/// Options of all commands; each uses some.
struct RecordOptions {
  std::filesystem::path folder, out = "trace.json";
  std::optional<std::int64_t> replica, step;
  bool json = false, markdown = false, facts = false;

  std::filesystem::path record() const { return replica_folder(folder, replica); }
};

int check(const RecordOptions& options) {
  const RecordCheck found = check_record(options.record());
  if (options.json)
    std::cout << json_text(to_json(found), 2) << std::endl;
  else
    print_text(to_text(found));
  return static_cast<int>(found.holds() ? ExitCode::holds : ExitCode::does_not_hold);
}

int trace(const RecordOptions& options) {
  write_file(options.out, json_text(trace_of(read_record(options.record()), options.step)) + "\n");
  print_text(options.out.string() + ": open it at https://ui.perfetto.dev or in chrome://tracing\n");
  return static_cast<int>(ExitCode::holds);
}

int show(const RecordOptions& options) {
  if (options.facts)
    show_facts(options.record(), [](const std::string& line) { std::cout << line; });
  else
    print_text(shown_record(options.record()));
  return static_cast<int>(ExitCode::holds);
}

int rules(const RecordOptions& options) {
  if (options.markdown)
    std::cout << checks_in_markdown() << std::flush;
  else
    print_text(rules_text());
  return static_cast<int>(ExitCode::holds);
}

}  // namespace

std::function<int()> add_record_command(CLI::App& app) {
  const auto options = std::make_shared<RecordOptions>();
  auto* record = app.add_subcommand("record", "Check, show or trace one run record; print the rules for records");
  record->require_subcommand(1);
  record->footer(help_end({"plumbline record check reports/runs/latest/references/stories260k-adamw"},
                          {.one = "check: something was found"}));
  const auto add = [&](const char* name, const char* what) {
    auto* command = record->add_subcommand(name, what);
    command->add_option("RECORD_DIR", options->folder, "The record, with its manifest.json")
        ->type_name("DIR")
        ->required();
    command->add_option("--replica", options->replica,
                        "Which of several pipelines that trained in parallel (0, 1, ...)");
    return command;
  };
  auto* check_command = add("check", "Check that a record is well-formed and that its numbers are consistent");
  check_command->add_flag("--json", options->json, "Print it as JSON");
  check_command->footer(help_end({"plumbline record check reports/runs/latest/references/stories260k-adamw"},
                                 {.zero = "holds",
                                  .one = "something was found",
                                  .two = "the record cannot be read, or the command line is wrong"}));
  auto* trace_command = add("trace", "Write the ranks' actions over time as trace events, for Perfetto");
  trace_command->add_option("--out", options->out, "The file to write")->type_name("FILE.json")->capture_default_str();
  trace_command->add_option("--step", options->step, "Only this step");
  trace_command->footer(help_end({"plumbline record trace reports/runs/latest/cells/stories260k-adamw-1f1b-w4"}));
  auto* show_command = add("show", "Print a record's contents");
  show_command->add_flag("--facts", options->facts, "Print each fact that the judge compares, as CSV");
  show_command->footer(help_end({"plumbline record show reports/runs/latest/references/stories260k-adamw"}));
  auto* rules_command = record->add_subcommand("rules", "Print what each check needs, by role and comparison mode");
  rules_command->add_flag("--markdown", options->markdown, "Print the part of docs/checks.md on each check");
  rules_command->footer(help_end({"plumbline record rules"}));
  return [=] {
    if (*trace_command) return trace(*options);
    if (*show_command) return show(*options);
    if (*rules_command) return rules(*options);
    return check(*options);
  };
}

}  // namespace plumbline
