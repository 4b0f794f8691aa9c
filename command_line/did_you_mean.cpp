// SPDX-License-Identifier: BSD-3-Clause
#include "command_line/did_you_mean.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "command_line/options.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// The parsed commands, outermost first: the next word should be a subcommand or option of the last one.
std::vector<const CLI::App*> commands_of(const CLI::App* app) {
  std::vector<const CLI::App*> commands = {app};
  for (auto chosen = app->get_subcommands(); !chosen.empty(); chosen = chosen.back()->get_subcommands()) {
    commands.push_back(chosen.back());
  }
  return commands;
}

std::vector<std::string> options_of(const CLI::App* command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : shown_options(command))
    std::ranges::move(option_names(option), std::back_inserter(names));
  return names;
}

std::vector<std::string> commands_below(const CLI::App* command) {
  std::vector<std::string> names;
  for (const CLI::App* each : subcommands_of(command)) names.push_back(each->get_name());
  return names;
}

/// The long option that an unknown short one abbreviates.
std::optional<std::string> first_with_letter(char letter, const std::vector<std::string>& options) {
  const auto found = std::ranges::find_if(
      options, [&](const std::string& each) { return each.starts_with(std::string("--") + letter); });
  return found == options.end() ? std::nullopt : std::optional(*found);
}

std::vector<std::string> commands_as_options(const CLI::App* command) {
  auto names = commands_below(command);
  for (auto& name : names) name.insert(0, "--");
  return names;
}

/// What is wrong with `word`, which `command` of the program `called` does not take; empty if unknown.
std::string suggestion(const std::string& word, const CLI::App* command, const std::string& called,
                       const CLI::App* innermost) {
  const bool option = word.starts_with("-");
  const std::string name = word.substr(0, word.find('='));
  if (option && command != innermost && std::ranges::count(options_of(innermost), name) > 0)
    return name + " goes after " + innermost->get_name() + "\n";
  const auto known = option ? options_of(command) : commands_below(command);
  if (known.empty()) return "";
  auto candidates = known;  // and subcommands written as options
  if (option) std::ranges::copy(commands_as_options(command), std::back_inserter(candidates));
  auto nearest = nearest_word(name, candidates);
  if (option && name.size() == 2) nearest = first_with_letter(name[1], known);
  if (nearest && option && std::ranges::find(known, *nearest) == known.end()) nearest = nearest->substr(2);
  return name + " is not " + (option ? "an option" : "a command") + " of " + called +
         (nearest ? "; did you mean " + *nearest + "?" : "; known are " + join(known, ", ")) + "\n";
}

}  // namespace

std::string message_with_suggestions(const CLI::App* app, const CLI::Error& error) {
  const auto commands = commands_of(app);
  std::string called, hint;
  bool of_command = false;
  for (const CLI::App* command : commands) {
    called += (called.empty() ? "" : " ") + command->get_name();
    for (const std::string& word : command->remaining()) {
      if (!hint.empty()) break;
      hint = suggestion(word, command, called, commands.back());
      of_command = !word.starts_with("-");
    }
  }
  const std::string words = CLI::FailureMessage::simple(app, error);
  // CLI11's own sentence about an unexpected word, or a command that is missing because of it, adds nothing.
  const int code = error.get_exit_code();
  const bool replaces = !hint.empty() && (code == static_cast<int>(CLI::ExitCodes::ExtrasError) ||
                                          (of_command && code == static_cast<int>(CLI::ExitCodes::RequiredError)));
  return hint + (replaces ? words.substr(words.find('\n') + 1) : words);
}

}  // namespace plumbline
