// SPDX-License-Identifier: BSD-3-Clause
// The help of every command of every program, found through the program's own help, and tab completion.
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <regex>
#include <sstream>

#include "support/text.hpp"
#include "tests/ended.hpp"
#include "tests/paths.hpp"
#include "tests/programs/bin.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The entries that are indented under "Commands:"; a continuation belongs to its entry.
std::vector<std::string> entries_of(const std::string& help, const std::string& title) {
  std::vector<std::string> entries;
  bool below = false, goes_on = false;
  for (const std::string& line : lines_of(help)) {
    if (below && line.empty()) break;
    if (below && goes_on) entries.back() += line;
    if (below && !goes_on) entries.push_back(line.substr(2));
    goes_on = below && line.ends_with("\\");
    if (goes_on) entries.back().pop_back();
    if (line == title + ":" || line == title + "s:") below = true;
  }
  return entries;
}

class Help : public ::testing::Test {
 protected:
  Ended run(const std::string& command) const {
    return end_of(
        "( cd " + folder_.path().string() + " && unset COLUMNS && PATH=" + bin() + ":$PATH && " + command + " )",
        folder_.path());
  }
  /// Runs each help once, since starting LibTorch takes half a second.
  Ended help(const std::string& command) const {
    static std::map<std::string, Ended> kept;
    const auto found = kept.find(command);
    return found != kept.end() ? found->second : kept.emplace(command, run(command + " --help")).first->second;
  }
  /// "plumbline", "plumbline schedule", "plumbline schedule show", ...
  std::vector<std::string> commands(const std::string& command) const {
    std::vector<std::string> all = {command};
    for (const std::string& entry : entries_of(help(command).output, "Command")) {
      if (entry.starts_with(" ")) continue;
      for (const auto& deeper : commands(command + " " + entry.substr(0, entry.find(' ')))) all.push_back(deeper);
    }
    return all;
  }
  std::vector<std::string> all_commands() const {
    std::vector<std::string> all = commands("plumbline");
    EXPECT_THAT(all, IsSupersetOf({"plumbline sweep", "plumbline schedule show", "plumbline record check"}));
    all.insert(all.end(), {"plumbline-reference", "plumbline-pipeline"});
    return all;
  }
  TemporaryFolder folder_;
};

TEST_F(Help, EveryCommandHasUsageExamplesAndExitCodesIn80Columns) {
  for (const std::string& command : all_commands()) {
    const Ended help = this->help(command);

    EXPECT_EQ(help.code, 0) << command;
    EXPECT_THAT(help.output, ::testing::MatchesRegex("Usage: " + command + "( [^\n]*)?\n\n(.|\n)*")) << command;
    EXPECT_THAT(entries_of(help.output, "Example"), Not(IsEmpty())) << command;
    EXPECT_THAT(entries_of(help.output, "Exit code"),
                AllOf(Contains(StartsWith("0  ")), Contains(StartsWith("2  ")), Contains(StartsWith("3  "))))
        << command;
    EXPECT_THAT(help.output, Not(HasSubstr(" TEXT"))) << command << ": must name the value, not its type";
    EXPECT_THAT(help.output, Not(HasSubstr("  \n"))) << command;
    for (const std::string& line : lines_of(help.output)) EXPECT_LE(line.size(), 80U) << command << ": " << line;
  }
}

// Runs each usage unchanged, without the optional parts; any later errors are about missing files.
TEST_F(Help, TheProgramAcceptsUsagesAndExamples) {
  for (const std::string& command : all_commands()) {
    const std::string help = this->help(command).output;
    std::string usage = help.substr(7, help.find("\n\n") - 7);
    usage = std::regex_replace(usage, std::regex("\\[[^\\]]*\\]|\\n|\\.\\.\\."), "");
    const bool group = usage.find("COMMAND") != std::string::npos;
    if (!group) {
      EXPECT_THAT(run(usage).output, Not(HasSubstr("Run with --help"))) << usage;
    }
    for (std::string example : entries_of(help, "Example")) {
      example = std::regex_replace(example, std::regex("^mpirun -n [0-9]+ "), "");
      EXPECT_EQ(run(example + " --help").code, 0) << example;
    }
  }
}

TEST_F(Help, HelpOfAnUnknownCommandFails) {
  for (const std::string words : {"plumbline swep --help", "plumbline schedule shwo --help", "plumbline --help swep"}) {
    const Ended ended = run(words);
    EXPECT_EQ(ended.code, 2) << words;
    EXPECT_THAT(ended.output, HasSubstr("did you mean s")) << words;
  }
  for (const std::string program : {"plumbline-reference", "plumbline-pipeline"}) {
    const Ended ended = run(program + " --hlep");
    EXPECT_EQ(ended.code, 2) << program;
    EXPECT_THAT(ended.output, HasSubstr("did you mean --help?")) << program;
  }
}

class Completion : public Help {
 protected:
  /// What bash offers for the last of the words.
  std::vector<std::string> offered(const std::string& program, const std::vector<std::string>& words) const {
    std::string function = "_" + program;
    std::ranges::replace(function, '-', '_');
    const std::string line = program + " '" + join(words, "' '") + "'", script = program + ".bash";
    if (!std::filesystem::exists(folder_ / script)) folder_.file(script, run(program + " --completion bash").output);
    const Ended ended = run("bash --norc -c \"source " + script + "; COMP_WORDS=(" + line +
                            "); COMP_CWORD=" + std::to_string(words.size()) + "; " + function +
                            "; printf '%s\\n' \\\"\\${COMPREPLY[@]}\\\"\"");
    EXPECT_EQ(ended.code, 0) << ended.output;
    auto found = lines_of(ended.output);
    std::erase(found, "");
    return found;
  }
};

TEST_F(Completion, OffersEveryCommandAndOptionOfTheHelp) {
  for (const std::string& command : all_commands()) {
    std::vector<std::string> words, of_help;
    std::istringstream in(command);
    std::string program;
    in >> program;
    for (std::string word; in >> word;) words.push_back(word);
    words.push_back("-");
    const auto options = offered(program, words);
    words.back() = "";
    const auto commands = offered(program, words);
    const std::string help = this->help(command).output;
    for (const std::string& entry : entries_of(help, "Option")) {
      std::smatch name;
      if (std::regex_search(entry, name, std::regex("^(-h, )?(--?[a-z-]+)"))) {
        EXPECT_THAT(options, Contains(name[2].str())) << command;
      }
      if (std::regex_search(entry, name, std::regex("^(--[a-z-]+) ([a-z0-9-]+)[|]"))) {
        words.back() = name[1].str();
        words.push_back("");
        EXPECT_THAT(offered(program, words), Contains(name[2].str())) << command << " " << entry;
        words.pop_back();
      }
    }
    for (const std::string& entry : entries_of(help, "Command")) {
      if (entry.starts_with(" ")) continue;
      EXPECT_THAT(commands, Contains(entry.substr(0, entry.find(' ')))) << command;
    }
  }
}

TEST_F(Completion, OffersMatchesListedValuesFoldersAndOtherwiseFiles) {
  folder_.file("sub/sweep.toml", "");

  EXPECT_THAT(offered("plumbline", {"schedule", "sh"}), ::testing::ElementsAre("show"));
  EXPECT_THAT(offered("plumbline", {"sweep", "a.toml", "--keep", "f"}), ::testing::ElementsAre("failures"));
  EXPECT_THAT(offered("plumbline", {"sweep", "--out", "s"}), ::testing::ElementsAre("sub"));
  EXPECT_THAT(offered("plumbline-pipeline", {"--device", ""}), ::testing::ElementsAre("cpu", "cuda"));
  EXPECT_THAT(offered("plumbline", {"sweep", "s"}), IsEmpty());
  EXPECT_THAT(offered("plumbline", {"sweep", fixtures_path() + "/sweeps/quick.toml", "--cells", ""}),
              ::testing::SizeIs(6));
  EXPECT_THAT(offered("plumbline", {"compare", "s"}), ::testing::ElementsAre("sub")) << "a baseline";
  EXPECT_THAT(offered("plumbline", {"schedule", "simulate", "--schedule", "zb-h"}),
              ::testing::ElementsAre("zb-h1", "zb-h2"));
  EXPECT_THAT(
      offered("plumbline", {"sweep", fixtures_path() + "/sweeps/quick.toml", "--cells", "stories260k-adamw-afab"}),
      ::testing::ElementsAre("stories260k-adamw-afab-w1", "stories260k-adamw-afab-w2", "stories260k-adamw-afab-w3"));
  EXPECT_THAT(run("plumbline --completion bash").output, HasSubstr("complete -o default -F _plumbline plumbline\n"))
      << "bash itself offers files if the function offers nothing";
}

// What zsh would request from its own functions.
TEST_F(Completion, ZshOffersTheSame) {
  if (run("command -v zsh").code != 0) GTEST_SKIP() << "zsh is not installed (apt-get install zsh)";
  const auto completions = [&](const std::string& words, int current) {
    folder_.file("try.zsh",
                 "compadd() { print -r -- \"${@[2,-1]}\"; }\n_files() { print files $@; }\nwords=(plumbline " + words +
                     ")\nCURRENT=" + std::to_string(current) + "\neval \"$(plumbline --completion zsh)\"\n");
    return run("zsh -f try.zsh").output;
  };

  EXPECT_THAT(completions("schedule sh", 3), HasSubstr("list show check"));
  EXPECT_THAT(completions("schedule show --sch", 4), HasSubstr("--schedule --ranks"));
  EXPECT_EQ(completions("sweep a.toml --keep f", 5), "all failures\n");
  EXPECT_EQ(completions("sweep --out x", 4), "files -/\n");
  EXPECT_EQ(completions("sweep s", 3), "files\n");
}

}  // namespace
}  // namespace plumbline::testing
