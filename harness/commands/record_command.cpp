// SPDX-License-Identifier: BSD-3-Clause
#include "harness/commands/record_command.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>

#include "command_line/command_line.hpp"
#include "harness/commands/checks_page.hpp"
#include "harness/commands/record_check.hpp"
#include "harness/commands/record_rules.hpp"
#include "harness/commands/record_show.hpp"
#include "record/record.hpp"
#include "reports/trace/trace.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/terminal.hpp"

namespace plumbline {
namespace {

struct CheckOptions {
  std::filesystem::path folder;
  std::optional<std::int64_t> replica;
  bool json = false;
  bool large_dumps = false;
};

int print_check(const CheckOptions& options) {
  auditing::AuditOptions audit;
  if (options.large_dumps) audit.most_dump_bytes = std::numeric_limits<std::uintmax_t>::max();
  const RecordCheck found = check_record(replica_folder(options.folder, options.replica), audit);
  if (options.json)
    std::cout << json_text(to_json(found), 2) << std::endl;
  else
    print_text(to_text(found));
  return static_cast<int>(found.holds() ? ExitCode::holds : ExitCode::does_not_hold);
}

void add_replica(CLI::App& command, std::optional<std::int64_t>& replica) {
  command.add_option("--replica", replica, "Which pipeline, where several trained in parallel (0, 1, ...)");
}

int print(const std::string& text) {
  print_text(text);
  return static_cast<int>(ExitCode::holds);
}

struct ShowOptions {
  std::filesystem::path folder;
  std::optional<std::int64_t> replica;
};

struct TraceOptions {
  std::filesystem::path folder, out = "trace.json";
  std::optional<std::int64_t> step, replica;
};

int write_trace(const TraceOptions& options) {
  write_file(options.out,
             json_text(trace_of(read_record(replica_folder(options.folder, options.replica)), options.step)) + "\n");
  std::cout << options.out.string() << ": open it at https://ui.perfetto.dev or in chrome://tracing" << std::endl;
  return static_cast<int>(ExitCode::holds);
}

}  // namespace

std::function<int()> add_record_command(CLI::App& app) {
  const auto options = std::make_shared<CheckOptions>();
  auto* record = app.add_subcommand("record", "Check, show or trace one run record; print the rules for records");
  record->require_subcommand(1);
  record->footer(help_end({"plumbline record check reports/runs/latest/references/stories260k-adamw"},
                          {.one = "check: something was found"}));
  auto* check_command = record->add_subcommand("check", "Read a record strictly and recompute its numbers");
  check_command->add_option("RECORD_DIR", options->folder, "The record, with its manifest.json")->required();
  check_command->add_flag("--json", options->json, "Print it as JSON");
  check_command->add_flag("--large-dumps", options->large_dumps, "Read dumps of more than 1 GiB too");
  add_replica(*check_command, options->replica);
  check_command->footer(help_end({"plumbline record check reports/runs/latest/references/stories260k-adamw"},
                                 {.zero = "holds",
                                  .one = "something was found",
                                  .two = "the record cannot be read, or the command line is wrong"}));
  const auto trace = std::make_shared<TraceOptions>();
  auto* trace_command =
      record->add_subcommand("trace", "Write the ranks' actions over time as trace events, for Perfetto");
  trace_command->add_option("RECORD_DIR", trace->folder, "The record, with its manifest.json")->required();
  trace_command->add_option("--out", trace->out, "The file to write")->type_name("FILE.json")->capture_default_str();
  trace_command->add_option("--step", trace->step, "Only this step");
  add_replica(*trace_command, trace->replica);
  trace_command->footer(help_end({"plumbline record trace reports/runs/latest/cells/stories260k-adamw-1f1b-w4"}));
  const auto shown = std::make_shared<ShowOptions>();
  auto* show_command = record->add_subcommand("show", "Print what a record holds");
  show_command->add_option("RECORD_DIR", shown->folder, "The record, with its manifest.json")->required();
  add_replica(*show_command, shown->replica);
  show_command->footer(help_end({"plumbline record show reports/runs/latest/references/stories260k-adamw"}));
  auto* rules_command =
      record->add_subcommand("rules", "Print what the judge requires: check by role and comparison mode");
  const auto markdown = std::make_shared<bool>(false);
  rules_command->add_flag("--markdown", *markdown, "Print the part of docs/checks.md on each check");
  rules_command->footer(help_end({"plumbline record rules"}));
  return [options, trace, trace_command, shown, show_command, rules_command, markdown] {
    if (*trace_command) return write_trace(*trace);
    if (*rules_command && *markdown) {
      std::cout << checks_in_markdown() << std::flush;
      return static_cast<int>(ExitCode::holds);
    }
    if (*show_command || *rules_command)
      return print(*show_command ? shown_record(replica_folder(shown->folder, shown->replica)) : rules_text());
    return print_check(*options);
  };
}

}  // namespace plumbline
