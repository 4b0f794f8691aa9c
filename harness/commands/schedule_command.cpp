// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <sstream>

#include "command_line/command_line.hpp"
#include "command_line/options.hpp"
#include "harness/commands/commands.hpp"
#include "record/record.hpp"
#include "reports/measured_timeline.hpp"
#include "schedule/closed_forms.hpp"
#include "schedule/csv_import.hpp"
#include "schedule/drawing.hpp"
#include "schedule/lowering.hpp"
#include "schedule/runnable.hpp"
#include "schedule/schedule_words.hpp"
#include "schedule/simulator.hpp"
#include "schedule/verifier.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// Options of all commands; each uses some.
struct Options {
  std::string schedule = "1f1b";  // a name or a CSV file
  std::int32_t ranks = 4;
  std::int32_t microbatches = 8;
  std::int32_t chunks = 0;  // 0: the schedule's default
  std::string placement;
  std::string transport = "mpi";
  std::string times = "1,1,1";
  double communication = 0;
  bool no_overlap = false;
  bool json = false;
  bool lowered = false;
  bool tied = false;
  std::string record;
  std::optional<std::int64_t> step;
  std::string out;
  std::string to = "torch";
  std::size_t columns = 0;  // 0: the terminal's width
};

std::optional<PlacementKind> placement_of(const Options& options) {
  if (options.placement.empty()) return std::nullopt;
  return options.placement == "v" ? PlacementKind::v : PlacementKind::loop;
}

Schedule load(const Options& options) {
  if (!names_schedule_file(options.schedule)) {
    const std::int32_t chunks = options.chunks > 0 ? options.chunks : default_chunks(options.schedule);
    return make_schedule(options.schedule, options.ranks, options.microbatches, chunks);
  }
  const ImportedSchedule imported = import_schedule(options.schedule, placement_of(options));
  for (const std::string& note : imported.notes) print_text("note: " + note + "\n", stderr);
  const auto findings = check_imported(imported, "mpi");
  if (!findings.empty()) {
    throw InputError(options.schedule + ": " + to_text(findings.front()) + " (plumbline schedule check " +
                     options.schedule + " lists all)");
  }
  return imported.schedule;
}

bool has_messages(const Schedule& schedule) {
  return std::ranges::any_of(schedule.ranks, [](const ActionList& list) {
    return std::ranges::any_of(list, [](const Action& action) { return !is_compute(action.type); });
  });
}

constexpr double longest_duration = 1e12;

double parse_time(const std::string& text, const std::string& where) {
  const auto value = parse_double(text);
  if (!value || !(*value >= 0 && *value <= longest_duration))
    throw InputError(where + ": \"" + text + "\" is not a duration; give a number from 0 to 1e12");
  return *value;
}

StageTimes parse_times(const std::vector<std::string>& cells, const std::string& where) {
  if (cells.size() != 3 && cells.size() != 4) {
    throw InputError(where + ": " + std::to_string(cells.size()) + " times; give T_F,T_B,T_W, as in 18.5,18.1,9.3");
  }
  StageTimes times{parse_time(cells[0], where), parse_time(cells[1], where), parse_time(cells[2], where)};
  if (cells.size() == 4) times.backward = parse_time(cells[3], where);
  return times;
}

/// "18.5,18.1,9.3", or a file with such a row for each stage.
Durations durations_of(const Options& options) {
  Durations durations;
  if (!(options.communication >= 0 && options.communication <= longest_duration)) {
    throw InputError("--communication " + to_text(options.communication) +
                     ": is not a duration; give a number from 0 to 1e12");
  }
  durations.edges = {options.communication};
  if (options.times.find(',') == std::string::npos) {
    for (const CsvRow& row : read_headless_csv(options.times).rows) {
      durations.stages.push_back(parse_times(row.cells, options.times + ", line " + std::to_string(row.line)));
    }
    return durations;
  }
  std::vector<std::string> cells;
  std::size_t begin = 0;
  while (begin <= options.times.size()) {
    const std::size_t end = std::min(options.times.find(',', begin), options.times.size());
    cells.push_back(options.times.substr(begin, end - begin));
    begin = end + 1;
  }
  durations.stages = {parse_times(cells, "--times " + options.times)};
  return durations;
}

void deliver(const Options& options, const std::string& text) {
  if (options.out.empty()) {
    std::cout << text;
  } else {
    write_file(options.out, text);
  }
}

int list_schedules(const Options& options) {
  Json all = Json::array();
  std::string text;
  for (const std::string& name : schedule_names()) {
    const std::string placement =
        make_schedule(name, 1, 2, default_chunks(name)).placement.kind == PlacementKind::v ? "v" : "loop";
    all.push_back({{"name", name},
                   {"chunks", default_chunks(name)},
                   {"placement", placement},
                   {"description", schedule_words(name)}});
    text += name + std::string(18 - name.size(), ' ') + schedule_words(name) + "\n";
  }
  if (options.json)
    std::cout << json_text(all, 2) << "\n";
  else
    print_text(text);
  return 0;
}

/// Width of "rank 12 " before a row. Piped drawings have the width of a usual terminal.
constexpr std::size_t rank_label = 8, piped_width = 80;

void draw(const Options& options, const std::vector<Timeline>& timelines) {
  const bool color = options.out.empty() && shows_colors(stdout);
  const std::size_t width = line_width(stdout), columns = (width == no_limit ? piped_width : width) - rank_label;
  deliver(options, options.out.ends_with(".svg")
                       ? draw_svg(timelines)
                       : draw_text(timelines, options.columns > 0 ? options.columns : columns, color));
}

int show(const Options& options) {
  if (!options.record.empty()) {
    const MeasuredTimeline timeline = measure_timeline(read_record(options.record), options.step);
    draw(options, timelines_of(timeline));
    print_text(fmt::format("step {}: measured {:.3g} ms, bubble {:.1f} %; planned {:.3g} ms, bubble {:.1f} % (with the "
                           "medians over {})\n",
                           timeline.step, timeline.measured.makespan, 100 * timeline.measured.bubble_rate,
                           timeline.planned.makespan, 100 * timeline.planned.bubble_rate,
                           quantity(timeline.steps_timed, "step")),
               stderr);
    return 0;
  }
  const Schedule schedule = load(options);
  const Simulation simulation = simulate(schedule, durations_of(options));
  draw(options, {{"", schedule, simulation}});
  return 0;
}

int simulate_schedule(const Options& options) {
  Schedule schedule = load(options);
  Durations durations = durations_of(options);
  durations.overlap = !options.no_overlap;
  if (options.no_overlap && !has_messages(schedule)) schedule = with_messages(schedule);
  const Simulation simulation = simulate(schedule, durations);
  // A closed form does not exist for unequal stages or messages that take time.
  std::optional<double> closed;
  if (durations.stages.size() == 1 && options.communication == 0 && !names_schedule_file(options.schedule)) {
    closed = closed_form_bubble(schedule.name, schedule.placement.ranks, schedule.microbatches, durations.stages[0]);
  }
  Json result = {{"schedule", schedule.name},
                 {"ranks", schedule.placement.ranks},
                 {"microbatches", schedule.microbatches},
                 {"chunks", schedule.placement.chunks_per_rank},
                 {"makespan", simulation.makespan},
                 {"bubble", simulation.bubble},
                 {"bubble_rate", simulation.bubble_rate},
                 {"closed_form_bubble", closed ? Json(*closed) : Json()},
                 {"peak_slots", simulation.peak_slots}};
  if (options.json) {
    std::cout << json_text(result, 2) << "\n";
    return 0;
  }
  std::cout << "makespan     " << simulation.makespan << "\nbubble       " << simulation.bubble;
  if (closed) std::cout << " (closed form " << *closed << ")";
  std::cout << "\nbubble rate  " << simulation.bubble_rate << "\npeak slots  ";
  for (const std::int64_t slots : simulation.peak_slots) std::cout << ' ' << slots;
  std::cout << "\n";
  return 0;
}

int check(const Options& options) {
  const ImportedSchedule imported = import_schedule(options.schedule, placement_of(options));
  const auto findings = check_imported(imported, options.transport);
  const Schedule& schedule = imported.schedule;
  const bool ascending = findings.empty() && accumulates_ascending(schedule);
  const std::string placement = schedule.placement.kind == PlacementKind::v ? "v" : "loop";
  if (options.json) {
    Json result = {{"holds", findings.empty()},
                   {"placement", placement},
                   {"transport", options.transport},
                   {"ranks", schedule.placement.ranks},
                   {"chunks", schedule.placement.chunks_per_rank},
                   {"microbatches", schedule.microbatches},
                   {"findings", Json::array()},
                   {"notes", imported.notes}};
    if (findings.empty()) result["ascending_accumulation"] = ascending;
    for (const ListFinding& finding : findings) {
      result["findings"].push_back({{"rule", name(finding.rule)},
                                    {"rank", finding.rank},
                                    {"position", finding.position},
                                    {"action", to_text(finding.action)},
                                    {"text", finding.text}});
    }
    std::cout << json_text(result, 2) << "\n";
  } else {
    std::ostringstream words;
    for (const std::string& note : imported.notes) words << "note: " << note << "\n";
    for (const ListFinding& finding : findings) words << name(finding.rule) << ": " << to_text(finding) << "\n";
    if (findings.size() == ListFindings::limit) words << "(stopped after " << ListFindings::limit << " findings)\n";
    words << (findings.empty() ? "HOLDS" : "DOES NOT HOLD") << ": " << quantity(schedule.placement.ranks, "rank")
          << ", " << quantity(schedule.placement.chunks_per_rank, "chunk") << " a rank (" << placement << "), "
          << quantity(schedule.microbatches, "microbatch") << ", over " << options.transport << "\n";
    if (findings.empty() && !ascending) {
      words << "note: gradients are not summed in ascending microbatch order; a reference needs --accumulation\n";
    }
    print_text(words.str());
  }
  return static_cast<int>(findings.empty() ? ExitCode::holds : ExitCode::does_not_hold);
}

int convert(const Options& options) {
  Schedule schedule = load(options);
  if (options.lowered && !has_messages(schedule)) schedule = lower(schedule, options.tied);
  deliver(options, options.to == "torch" ? export_for_torch(schedule) : to_csv(schedule));
  return 0;
}

void add_reading(CLI::App& command, Options& options) {
  command
      .add_option("--placement", options.placement,
                  "Placement of the stages in the file (default: detected from its rows)")
      ->check(one_of({"loop", "v"}));
}

void add_choice(CLI::App& command, Options& options) {
  offer(command
            .add_option("--schedule", options.schedule, "A name (plumbline schedule list), or a file that ends in .csv")
            ->type_name("NAME")
            ->capture_default_str(),
        schedule_names());
  command.add_option("--ranks", options.ranks, "Ranks, p")->capture_default_str();
  command.add_option("--microbatches", options.microbatches, "Microbatches, m")->capture_default_str();
  command
      .add_option("--chunks", options.chunks,
                  "Stages on each rank, v (default: 2 where the schedule has several, else 1)")
      ->check(CLI::Range(1, INT32_MAX));
  add_reading(command, options);
}

void add_times(CLI::App& command, Options& options) {
  command
      .add_option("--times", options.times,
                  "T_F,T_B,T_W of a stage, or a CSV file with such a row for each stage; a fourth time is of a "
                  "full backward (else T_B + T_W)")
      ->type_name("TIMES")
      ->capture_default_str();
  command.add_option("--communication", options.communication, "T_comm of a message between two ranks")
      ->capture_default_str();
}

}  // namespace

std::function<int()> add_schedule_command(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  auto* schedule = app.add_subcommand("schedule", "List, show, check, simulate and convert schedules");
  schedule->require_subcommand(1);
  schedule->footer(help_end({"plumbline schedule list", "plumbline schedule show --schedule 1f1b"},
                            {.one = "check: does not hold"}));

  auto* list_command = schedule->add_subcommand("list", "List the available schedules");
  list_command->add_flag("--json", options->json, "Print them as JSON");
  list_command->footer(help_end({"plumbline schedule list"}));

  auto* show_command = schedule->add_subcommand("show", "Draw a schedule: text, or SVG with --out FILE.svg");
  add_choice(*show_command, *options);
  add_times(*show_command, *options);
  show_command->add_option("--columns", options->columns, "Characters per row (default: as many as the terminal has)")
      ->check(CLI::Range(10, 10000));
  auto* record = show_command
                     ->add_option("--record", options->record,
                                  "A run's record: draw a step of it as measured, above the same schedule planned with "
                                  "the record's median times")
                     ->type_name("DIR");
  for (const char* chosen : {"--schedule", "--ranks", "--microbatches", "--chunks", "--times", "--communication"}) {
    record->excludes(show_command->get_option(chosen));
  }
  show_command->add_option("--step", options->step, "With --record: which step (default: the one of median time)");
  show_command->add_option("--out", options->out, "File to write (.svg: a drawing, else text; default: the terminal)")
      ->type_name("FILE");
  show_command->footer(help_end({"plumbline schedule show --schedule zb-h1 --ranks 4 --microbatches 8 --out zb-h1.svg",
                                 "plumbline schedule show --record reports/runs/latest/cells/untied128-sgd-1f1b-w2"}));

  auto* check_command = schedule->add_subcommand("check", "Verify a schedule file");
  check_command->add_option("SCHEDULE.csv", options->schedule, "One row for each rank")->required();
  add_reading(*check_command, *options);
  check_command->add_option("--transport", options->transport, "Transport that will run it")
      ->check(one_of({"mpi", "threads", "nccl"}))
      ->capture_default_str();
  check_command->add_flag("--json", options->json, "Print the findings as JSON");
  check_command->footer(help_end(
      {"plumbline schedule check mine.csv --transport nccl"},
      {.zero = "holds", .one = "does not hold", .two = "the file cannot be read, or the command line is wrong"}));

  auto* simulate_command =
      schedule->add_subcommand("simulate", "Compute makespan, bubble and activation slots from durations");
  add_choice(*simulate_command, *options);
  add_times(*simulate_command, *options);
  simulate_command->add_flag("--no-overlap", options->no_overlap, "Start a transfer only when the receiver is ready");
  simulate_command->add_flag("--json", options->json, "Print the result as JSON");
  simulate_command->footer(
      help_end({"plumbline schedule simulate --schedule zb-h1 --ranks 8 --microbatches 24 --times 18.522,18.086,9.337 "
                "--communication 0.601 --json"}));

  auto* convert_command = schedule->add_subcommand("convert", "Write a schedule as CSV");
  add_choice(*convert_command, *options);
  convert_command->add_option("--to", options->to, "Format; torch's loader does not know REDUCE and STEP")
      ->check(one_of({"torch", "plumbline"}))
      ->capture_default_str();
  convert_command->add_flag("--lowered", options->lowered, "Include SEND and RECV");
  convert_command->add_flag("--tied", options->tied, "With --lowered: include REDUCE for tied weights");
  convert_command->add_option("--out", options->out, "File to write (default: the terminal)")->type_name("FILE");
  convert_command->footer(help_end({"plumbline schedule convert --schedule zb-v --to torch --out zb-v.csv"}));

  return [=] {
    if (*list_command) return list_schedules(*options);
    if (*show_command) return show(*options);
    if (*check_command) return check(*options);
    if (*simulate_command) return simulate_schedule(*options);
    return convert(*options);
  };
}

}  // namespace plumbline
