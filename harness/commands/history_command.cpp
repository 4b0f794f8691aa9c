#include "harness/commands/history_command.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>

#include "harness/history/history_file.hpp"
#include "harness/history/history_page.hpp"
#include "harness/history/history_text.hpp"
#include "harness/history/take_history.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct HistoryOptions {
  fs::path file = "history.csv";
  fs::path sweep = "reports/runs/latest";
  std::string run;
  bool points = false;
  fs::path out = "history.html";
};

History there(const HistoryOptions& options) {
  if (!path_exists(options.file))
    throw InputError(options.file.string() + ": there is no such history; plumbline history add begins one");
  return read_history(options.file);
}

int add_sweep(const HistoryOptions& options) {
  const TakenHistory taken = take_history(options.sweep);
  const std::int64_t added = append_history(options.file, taken.rows);
  std::cout << options.file.string() << ": " << added << " rows added";
  if (const auto known = std::ssize(taken.rows) - added; known > 0) std::cout << ", " << known << " were there already";
  std::cout << "\n";
  for (const std::string& line : taken.missing) std::cout << "left empty: " << line << "\n";
  return static_cast<int>(ExitCode::holds);
}

int show_history(const HistoryOptions& options) {
  std::cout << history_text(there(options), options.run, options.points);
  return static_cast<int>(ExitCode::holds);
}

int draw_history(const HistoryOptions& options) {
  write_file(options.out, history_page(there(options)));
  std::cout << options.out.string() << "\n";
  return static_cast<int>(ExitCode::holds);
}

}  // namespace

std::function<int()> add_history_command(CLI::App& app) {
  const auto options = std::make_shared<HistoryOptions>();
  auto* command = app.add_subcommand("history", "What sweeps found over time: verdicts, bits, bytes, speeds by commit");
  command->require_subcommand(1);
  command->footer(
      "Example: plumbline history add reports/runs/latest\n"
      "         plumbline history show --run 1f1b-w2\n"
      "         plumbline history page --out history.html");
  const auto add = [&](const char* name, const char* what) {
    auto* sub = command->add_subcommand(name, what);
    sub->add_option("--history", options->file, "The CSV it is kept in; rows are only ever added")
        ->capture_default_str();
    return sub;
  };
  auto* add_command = add("add", "Add a finished sweep");
  add_command->add_option("sweep", options->sweep, "Folder of a finished sweep")->capture_default_str();
  auto* show_command = add("show", "Print what changed, and each run's series");
  show_command->add_option("--run", options->run, "Only runs whose id holds this text");
  show_command->add_flag("--points", options->points, "Each point in a line");
  auto* page_command = add("page", "Draw it into one HTML file");
  page_command->add_option("--out", options->out, "Where to write it")->capture_default_str();
  return [options, add_command, show_command] {
    if (*add_command) return add_sweep(*options);
    if (*show_command) return show_history(*options);
    return draw_history(*options);
  };
}

}  // namespace plumbline
