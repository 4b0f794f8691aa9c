// SPDX-License-Identifier: BSD-3-Clause
#include "command_line/completion.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "command_line/options.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

/// A command with the words that lead to it: "", " schedule", " schedule show".
using Commands = std::vector<std::pair<std::string, const CLI::App*>>;

void collect(const CLI::App* app, const std::string& path, Commands& commands) {
  commands.emplace_back(path, app);
  for (const CLI::App* command : subcommands_of(app)) collect(command, path + " " + command->get_name(), commands);
}

/// A row of a `case` in either shell.
std::string row(const std::vector<std::string>& patterns, const std::string& action) {
  return "    '" + join(patterns, "' | '") + "') " + action + " ;;\n";
}

class Script {
 public:
  Script(const CLI::App& app, Shell shell) : bash_(shell == Shell::bash), function_(function_name(app.get_name())) {
    collect(&app, "", commands_);
  }

  std::string text(const std::string& program) const {
    const std::string made = program + " --completion " + (bash_ ? "bash" : "zsh");
    std::string text = bash_ ? "# Made by: " + made + "\n" : "#compdef " + program + "\n# Made by: " + made + "\n";
    text += function_ + "() {\n  local word at=\n";
    text += bash_ ? "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n  COMPREPLY=()\n"
                    "  local typed=(\"${COMP_WORDS[@]:1:COMP_CWORD-1}\" \"${current}x\")\n"
                    "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
                  : "  local current=$words[CURRENT] before=$words[CURRENT-1]\n"
                    "  local -a typed=(\"${(@)words[2,CURRENT-1]}\" \"${current}x\")\n"
                    "  for word in \"${(@)words[2,CURRENT-1]}\"; do\n";
    text += "    case \"$at $word\" in\n" + commands() + "    esac\n  done\n";
    text += "  case \"$at $before\" in\n" + values() + "  esac\n";
    text += "  if [[ $current == -* ]]; then\n    case \"$at\" in\n" + options() + "    esac\n    return\n  fi\n";
    text += "  case \"$at\" in\n" + subcommands() + "  esac\n}\n";
    // Where a function of bash offers nothing, bash offers files.
    return text + (bash_ ? "complete -o default -F " + function_ + " " + program + "\n" : function_ + " \"$@\"\n");
  }

 private:
  static std::string function_name(std::string program) {
    std::ranges::replace(program, '-', '_');
    return "_" + program;
  }
  std::string words(const std::vector<std::string>& offered) const {
    return bash_ ? "mapfile -t COMPREPLY < <(compgen -W '" + join(offered, " ") + "' -- \"$current\")"
                 : "compadd -- " + join(offered, " ");
  }
  std::string files(bool folders) const {
    if (!bash_) return folders ? "_files -/" : "_files";
    return folders ? "compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$current\")" : "true";
  }

  std::string commands() const {
    std::string rows;
    for (const auto& [path, app] : commands_) {
      if (!path.empty()) rows += row({path}, "at=\"$at $word\"");
    }
    return rows;
  }
  /// After an option that takes one.
  std::string values() const {
    std::string rows;
    for (const auto& [path, app] : commands_) {
      for (const CLI::Option* option : shown_options(app)) {
        if (option->get_positional() || !takes_value(option)) continue;
        std::vector<std::string> patterns;
        for (const std::string& name : option_names(option)) patterns.push_back(path + " " + name);
        const auto choices = choices_of(option);
        const std::string& offered = option->get_option_text();
        std::string action = choices.empty() ? files(metavariable(option) == "DIR") : words(choices);
        if (!offered.empty()) action = words({offered}) + (bash_ ? "" : "; _files");  // bash: files where none fits
        rows += row(patterns, action + "; return");
      }
    }
    return rows;
  }
  std::string options() const {
    std::string rows;
    for (const auto& [path, app] : commands_) {
      std::vector<std::string> names;
      for (const CLI::Option* option : shown_options(app)) {
        for (const std::string& name : option_names(option)) names.push_back(name);
      }
      rows += row({path}, words(names));
    }
    return rows;
  }
  std::string subcommands() const {
    std::string rows;
    for (const auto& [path, app] : commands_) {
      std::vector<std::string> names;
      for (const CLI::App* command : subcommands_of(app)) names.push_back(command->get_name());
      if (!names.empty()) rows += row({path}, words(names));
      const auto takes_folder = [](const CLI::Option* option) {
        return option->get_positional() && metavariable(option) == "DIR";
      };
      if (std::ranges::any_of(shown_options(app), takes_folder)) rows += row({path}, files(true));
    }
    return rows + "    *) " + files(false) + " ;;\n";
  }

  bool bash_;
  std::string function_;
  Commands commands_;
};

}  // namespace

std::string completion(const CLI::App& app, Shell shell) {
  return Script(app, shell).text(app.get_name());
}

}  // namespace plumbline
