// SPDX-License-Identifier: BSD-3-Clause
#include "tests/session.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <regex>
#include <utility>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/shell.hpp"
#include "tests/approved.hpp"
#include "tests/changed_json.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

/// While it lives, this is the working folder.
class WorkingFolder {
 public:
  explicit WorkingFolder(const fs::path& folder) : before_(fs::current_path()) { fs::current_path(folder); }
  ~WorkingFolder() { fs::current_path(before_); }
  WorkingFolder(const WorkingFolder&) = delete;
  WorkingFolder& operator=(const WorkingFolder&) = delete;

 private:
  fs::path before_;
};

/// While it lives, stdout and stderr go to this file, in the order of their lines.
class PrintedTo {
 public:
  explicit PrintedTo(const fs::path& file) : file_(std::fopen(file.c_str(), "w"), std::fclose) {
    flush();
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      before_.push_back(dup(stream));
      dup2(fileno(file_.get()), stream);
    }
  }
  ~PrintedTo() {
    flush();
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      dup2(before_[static_cast<std::size_t>(stream - STDOUT_FILENO)], stream);
      close(before_[static_cast<std::size_t>(stream - STDOUT_FILENO)]);
    }
  }
  PrintedTo(const PrintedTo&) = delete;
  PrintedTo& operator=(const PrintedTo&) = delete;

 private:
  static void flush() {
    std::cout.flush();
    std::fflush(stdout);
    std::fflush(stderr);
  }

  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  std::vector<int> before_;
};

/// The line without the variables at its beginning.
std::string without_variables(std::string line, std::map<std::string, std::string>& variables) {
  static const std::regex variable("^([A-Z_]+)=([^ ]*) (.*)$");
  for (std::smatch found; std::regex_match(line, found, variable); line = std::string(found[3]))
    variables[found[1]] = found[2];
  return line;
}

std::string with_newline(std::string text) {
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

}  // namespace

Session::Session() : pid_("plumbline_pid", std::to_string(getpid()).c_str()) {}

std::string Session::bash(const std::string& script) const {
  const fs::path out = own_ / "out";
  own_.file("script", script);
  const std::string command =
      "cd '" + folder_.path().string() + "' && bash '" + (own_ / "script").string() + "' > '" + out.string() + "' 2>&1";
  const int ended = std::system(command.c_str());
  return bytes_of(out) + (ended == 0 ? "" : "(bash: exit code " + std::to_string(WEXITSTATUS(ended)) + ")\n");
}

std::string Session::printed_by(const Program& program, const std::string& line,
                                const std::map<std::string, std::string>& variables) {
  const auto tail = std::min(line.find(" | "), line.find(" > "));
  std::string ended;
  {
    const WorkingFolder here(folder_.path());
    const PrintedTo to(own_ / "printed");
    std::vector<std::unique_ptr<EnvironmentVariable>> set;
    for (const auto& [variable, value] : variables)
      set.push_back(std::make_unique<EnvironmentVariable>(variable, value.c_str()));
    int code = 0;
    try {
      code = program(shell_words(line.substr(0, tail)));
    } catch (const Error& error) {
      code = static_cast<int>(error.code());
      std::fflush(stdout);
      std::fprintf(stderr, "%s\n", error.what());
    }
    if (code != 0) ended = "(exit code " + std::to_string(code) + ")\n";
  }
  const std::string printed = with_newline(bytes_of(own_ / "printed"));
  if (tail == std::string::npos) return printed + ended;
  return bash("cat '" + own_.file("whole", printed).string() + "'" + line.substr(tail)) + ended;
}

std::string Session::answer(const std::string& lines) {
  std::vector<std::pair<std::string, std::string>> printed;  // by line of a program; by "" for a script
  std::string script;
  const auto run_script = [&] {
    if (!script.empty()) printed.emplace_back("", bash(std::exchange(script, "")));
  };
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) {
    std::map<std::string, std::string> variables;
    const std::string words = without_variables(line, variables), name = words.substr(0, words.find(' '));
    if (name == "start") {
      for (const std::string& word : shell_words(words.substr(name.size()))) start(word);
    } else if (name == "edit") {  // edit FILE POINTER [VALUE]
      run_script();
      const Words edit = shell_words(words);
      write_json(folder_ / edit.at(1),
                 changed(read_json(folder_ / edit.at(1)), edit.at(2) + (edit.size() > 3 ? " " + edit[3] : "")));
    } else if (const auto program = programs_.find(name); program != programs_.end()) {
      run_script();
      printed.emplace_back(line, printed_by(program->second, words, variables));
    } else {
      script += line + "\n";
    }
  }
  run_script();
  const bool several = std::ranges::count_if(printed, [](const auto& each) { return !each.first.empty(); }) > 1;
  std::string text;
  for (const auto& [line, out] : printed) {
    if (several && !line.empty()) text += "$ " + line + "\n";
    text += with_newline(out);
  }
  text = std::regex_replace(in_folder(folder_, text), std::regex("  [0-9.]+ s(  |\n)"), "  N s$1");
  text = std::regex_replace(text, std::regex("plumbline-test-[A-Za-z0-9]{6}"), "FOLDER");
  text = std::regex_replace(text, std::regex("[^ ]*/plumbline-run-[A-Za-z0-9]{6}"), "SCRATCH");
  text = std::regex_replace(text, std::regex("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "RUN-ID");
  text = std::regex_replace(text, std::regex(" *\n+"), "\n");
  if (text.ends_with('\n')) text.pop_back();
  return text.empty() ? "(nothing is printed)" : text;
}

}  // namespace plumbline::testing
