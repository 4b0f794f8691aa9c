// SPDX-License-Identifier: BSD-3-Clause
#include "command_line/options.hpp"

#include <algorithm>
#include <sstream>

#include "support/text.hpp"

namespace plumbline {

std::vector<const CLI::Option*> shown_options(const CLI::App* app) {
  return app->get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

std::vector<const CLI::App*> subcommands_of(const CLI::App* app) {
  return app->get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<std::string> option_names(const CLI::Option* option) {
  std::vector<std::string> names;
  for (const auto& name : option->get_snames()) names.push_back("-" + name);
  for (const auto& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

bool takes_value(const CLI::Option* option) {
  return option->get_items_expected_max() > 0;
}

CLI::Validator one_of(const std::vector<std::string>& values) {
  const std::string listed = "{" + join(values, ",") + "}";
  return CLI::Validator(
      [values, listed](const std::string& given) {
        const bool found = std::ranges::find(values, given) != values.end();
        return found ? "" : given + " not in " + listed + did_you_mean(given, values);
      },
      listed);
}

std::vector<std::string> choices_of(const CLI::Option* option) {
  const std::string type = option->get_type_name();  // "TEXT:{cpu,cuda}"
  const auto begin = type.find('{'), end = type.find('}');
  std::vector<std::string> choices;
  if (begin == std::string::npos || end == std::string::npos) return choices;
  std::istringstream words(type.substr(begin + 1, end - begin - 1));
  for (std::string word; std::getline(words, word, ',');) choices.push_back(word);
  return choices;
}

void offer(CLI::Option* option, const std::vector<std::string>& words) {
  option->option_text(join(words, " "));
}

std::string metavariable(const CLI::Option* option) {
  if (!takes_value(option)) return "";
  const auto choices = choices_of(option);
  if (!choices.empty()) return join(choices, "|");
  const std::string type = option->get_type_name(), name = type.substr(0, type.find(':'));
  return name == "INT" || name == "UINT" ? "N" : name == "FLOAT" ? "X" : name;
}

std::string option_words(const CLI::Option* option) {
  const bool several = option->get_items_expected_max() >= CLI::detail::expected_max_vector_size;
  if (option->get_positional()) return option->get_name(true, false) + (several ? "..." : "");
  const std::string variable = metavariable(option);
  return join(option_names(option), ", ") + (variable.empty() ? "" : " " + variable) +
         (several && option->get_allow_extra_args() ? "..." : "");
}

}  // namespace plumbline
