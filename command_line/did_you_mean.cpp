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

}  // namespace

std::string message_with_suggestions(const CLI::App* app, const CLI::Error& error) {
  const auto commands = commands_of(app);
  std::vector<std::string> called;
  for (const CLI::App* command : commands) called.push_back(command->get_name());
  std::string hint;
  for (const std::string& word : app->remaining(true)) {
    const bool option = word.starts_with("-");
    const auto known = option ? options_of(commands.back()) : commands_below(commands.back());
    if (known.empty()) continue;
    const std::string name = word.substr(0, word.find('='));
    auto candidates = known;  // and subcommands written as options
    if (option) std::ranges::copy(commands_as_options(commands.back()), std::back_inserter(candidates));
    auto nearest = nearest_word(name, candidates);
    if (option && name.size() == 2) nearest = first_with_letter(name[1], known);
    if (nearest && option && std::ranges::find(known, *nearest) == known.end()) nearest = nearest->substr(2);
    hint = name + " is not " + (option ? "an option" : "a command") + " of " + join(called, " ") +
           (nearest ? "; did you mean " + *nearest + "?" : "; known are " + join(known, ", ")) + "\n";
    break;
  }
  const std::string words = CLI::FailureMessage::simple(app, error);
  // CLI11's own sentence about an unexpected word adds nothing.
  const bool hinted = !hint.empty() && error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  return hint + (hinted ? words.substr(words.find('\n') + 1) : words);
}

}  // namespace plumbline
