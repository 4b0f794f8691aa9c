// SPDX-License-Identifier: BSD-3-Clause
#include "command_line/command_line.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <sstream>

#include "command_line/completion.hpp"
#include "command_line/did_you_mean.hpp"
#include "command_line/options.hpp"
#include "support/error.hpp"
#include "support/terminal.hpp"

namespace plumbline {
namespace {

constexpr std::size_t help_width = 80, words_column = 22;

/// "  --out DIR           Folder for the results"; the description of a longer name is below it.
std::string entry(const std::string& name, const std::string& words, std::size_t width) {
  const std::size_t used = 2 + name.size();
  const std::string gap =
      used + 2 <= words_column ? std::string(words_column - used, ' ') : "\n" + std::string(words_column, ' ');
  std::string text;
  // The description is wrapped by itself, so that each of its lines begins in that column.
  for (const char c : wrapped(words, width - words_column)) {
    text += c;
    if (c == '\n') text += std::string(words_column - 2, ' ');  // two are the indentation
  }
  return "  " + name + gap + text + "\n";
}

class HelpFormatter : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::string usage) : usage_(std::move(usage)) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode /*mode*/) const override {
    const std::size_t width = std::min(line_width(stdout), help_width);
    std::string text = wrapped("Usage: " + (usage_.empty() ? usage_of(app, name) : usage_) + "\n\n", width) +
                       wrapped(app->get_description() + "\n", width);
    std::string arguments, commands, options;
    for (const CLI::Option* option : shown_options(app)) {
      std::string& group = option->get_positional() ? arguments : options;
      group += entry(option_words(option), described(option), width);
    }
    for (const CLI::App* command : subcommands_of(app)) {
      commands += entry(command->get_name(), command->get_description(), width);
    }
    if (!arguments.empty()) text += "\nArguments:\n" + arguments;
    if (!commands.empty()) text += "\nCommands:\n" + commands;
    text += "\nOptions:\n" + options;
    return text + "\n" + app->get_footer() + "\n";
  }

 private:
  static std::string usage_of(const CLI::App* app, const std::string& name) {
    std::string usage = name;
    for (const CLI::Option* option : shown_options(app)) {
      if (!option->get_positional() && !option->get_required()) continue;
      const std::string words = option_words(option);
      usage += " " + (option->get_required() ? words : "[" + words + "]");
    }
    return usage + (subcommands_of(app).empty() ? "" : " COMMAND") + " [OPTION...]";
  }
  static std::string described(const CLI::Option* option) {
    const std::string given = option->get_default_str();
    return option->get_description() + (given.empty() ? "" : " (default: " + given + ")");
  }

  std::string usage_;
};

std::string codes_text(const ExitWords& words) {
  std::string text = "Exit codes:\n";
  int code = 0;
  for (const std::string& each : {words.zero, words.one, words.two, words.three, words.four}) {
    if (!each.empty()) text += "  " + std::to_string(code) + "  " + each + "\n";
    ++code;
  }
  return wrapped(text, help_width);
}

void choose_colors_by(const std::string& word) {
  choose_colors(word == "always" ? Colors::always : word == "never" ? Colors::never : Colors::where_terminal);
}

}  // namespace

void begin_command_line(CLI::App& app, const std::string& program, const std::string& usage) {
  app.name(program);
  app.formatter(std::make_shared<HelpFormatter>(usage));
  app.failure_message(message_with_suggestions);
  app.add_option_function<std::string>(
         "--completion",
         [&app](const std::string& shell) {
           std::fputs(completion(app, shell == "zsh" ? Shell::zsh : Shell::bash).c_str(), stdout);
           throw CLI::Success();
         },
         "Print the script that completes words for this shell")
      ->check(one_of({"bash", "zsh"}))
      ->group("");  // for cmake --install; hidden
}

void add_color_option(CLI::App& app) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  for (CLI::App* command : commands) add_color_option(*command);
  if (!commands.empty()) return;
  app.add_option_function<std::string>("--color", choose_colors_by, "Whether to color verdicts")
      ->check(one_of({"auto", "always", "never"}))
      ->default_str("auto");
}

bool read_command_line(CLI::App& app, int argc, const char* const* argv) try {
  std::vector<const char*> words(argv, argv + argc);
  if (argc > 1 && std::string(argv[1]) == "help" && !subcommands_of(&app).empty()) {  // help X is X --help
    words.erase(words.begin() + 1);
    words.push_back("--help");
  }
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], before = argv[i - 1];
    if (word.empty())
      throw CLI::ValidationError(before.starts_with("--") ? before : "argument " + std::to_string(i), "is empty");
  }
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::CallForHelp&) {
    const auto unknown = app.remaining(true);
    if (unknown.empty()) throw;
    throw CLI::ExtrasError(app.get_name(), unknown);
  } catch (const CLI::RequiredError&) {
    const CLI::App* command = &app;
    while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
    if (subcommands_of(command).empty() || !app.remaining(true).empty()) throw;
    throw CLI::CallForHelp();  // a group of commands alone lists them
  }
  return true;
} catch (const CLI::ParseError& error) {
  std::ostringstream words;
  if (app.exit(error, std::cout, words) == 0) return false;  // --help
  std::string text = words.str();
  while (text.ends_with('\n')) text.pop_back();
  throw InputError(text);
}

std::string help_end(const std::vector<std::string>& examples, const ExitWords& words) {
  std::string text = examples.size() == 1 ? "Example:\n" : "Examples:\n";
  for (const std::string& example : examples) {
    text += wrapped_command(example, help_width, 2) + "\n";
  }
  std::string codes = codes_text(words);
  codes.pop_back();
  return text + "\n" + codes;
}

}  // namespace plumbline
