// SPDX-License-Identifier: BSD-3-Clause
// The first steps of a new user: plumbline init, the two commands that it prints, and a failed case.
#include <gmock/gmock.h>

#include <cstdlib>
#include <regex>

#include "support/files.hpp"
#include "tests/ended.hpp"
#include "tests/paths.hpp"
#include "tests/programs/bin.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class Init : public ::testing::Test {
 protected:
  Ended run(const std::string& command) const {
    return end_of("( cd " + folder_.path().string() + " && PATH=" + bin() + ":$PATH && " + command + " )",
                  folder_.path());
  }
  void script(const std::string& name, const std::string& body) {
    fs::permissions(folder_.file(name, "#!/bin/bash\n" + body), fs::perms::owner_all);
  }
  /// The commands that init prints last.
  static std::vector<std::string> next(const std::string& said) {
    std::vector<std::string> commands;
    const std::string text = said.substr(said.find("\nnext:\n"));
    const std::regex line("\n  (plumbline [^#\n]*[^#\n ])");
    for (std::sregex_iterator each(text.begin(), text.end(), line), end; each != end; ++each)
      commands.push_back((*each)[1]);
    return commands;
  }
  std::string sweep_file() const { return read_file(folder_ / "sweep.toml"); }

  TemporaryFolder folder_;
};

TEST_F(Init, WithATextLeadsToASweepThatHolds) {
  folder_.file("book.txt", std::string(500, 'a') + std::string(500, 'b'));
  const Ended made = run("plumbline init --text book.txt");

  ASSERT_EQ(made.code, 0) << made.output;
  EXPECT_THAT(sweep_file(), StartsWith("#:schema "));
  const auto commands = next(made.output);
  ASSERT_EQ(commands.size(), 2U);
  for (const std::string& command : commands) {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 0) << command << "\n" << ended.output;
  }

  const Ended again = run("plumbline init --text book.txt");
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.output, HasSubstr("sweep.toml: already exists"));
}

/// The user's trainers are Plumbline's, which take only --record.
TEST_F(Init, WithCommandsStartsThemAndOmitsUnsupportedOptions) {
  const std::string quick = fixtures_path() + "/runs/quick.toml";
  const Ended made =
      run("plumbline init --reference 'plumbline-reference " + quick +
          "' --candidate 'plumbline-pipeline --transport threads --ranks 2 " + quick + " --schedule 1f1b'");

  ASSERT_EQ(made.code, 0) << made.output;
  EXPECT_THAT(made.output,
              AllOf(HasSubstr("reference: takes no --level"), HasSubstr("reference: takes no --norms-from"),
                    HasSubstr("candidate: starts, and records")));
  EXPECT_THAT(sweep_file(),
              AllOf(HasSubstr("\"{record}\"]"), HasSubstr("\"--ranks\", \"{world}\""), HasSubstr("world_sizes = [2]"),
                    HasSubstr("schedules = [\"1f1b\"]"), Not(HasSubstr("{level}")), Not(HasSubstr("norms"))));
  const Ended swept = run(next(made.output).back());
  EXPECT_EQ(swept.code, 0) << swept.output;
}

TEST_F(Init, WithBrokenCommandsWritesTheFileAndExplains) {
  script("one.sh", "echo 'one.sh: the data is missing' >&2; exit 3\n");
  script("two.sh", "exit 0\n");
  const Ended made = run("plumbline init --reference ./one.sh --candidate ./two.sh --ranks 2");

  EXPECT_EQ(made.code, 1) << made.output;
  EXPECT_THAT(made.output, AllOf(HasSubstr("reference: ended with exit code 3: one.sh: the data is missing"),
                                 HasSubstr("candidate: ran, but wrote no record"), HasSubstr("written: sweep.toml")));
  EXPECT_THAT(sweep_file(), HasSubstr("reference = [\"./one.sh\""));
}

// argparse prints a usage line with its known options before the message about the unknown one.
TEST_F(Init, WithCommandsKeepsAnOptionThatAUsageLineLists) {
  script("one.sh",
         "[[ $* != *--norms-from* ]] || { printf '%s\\n' 'usage: one.sh [-h] [--record DIR] [--level LEVEL]' "
         "'one.sh: error: unrecognized arguments: --norms-from' >&2; exit 2; }\n");
  const Ended made = run("plumbline init --reference ./one.sh --candidate ./one.sh --ranks 2");

  EXPECT_EQ(made.code, 1) << made.output;
  EXPECT_THAT(made.output, AllOf(HasSubstr("reference: takes no --norms-from"), Not(HasSubstr("takes no --level"))));
  EXPECT_THAT(sweep_file(), AllOf(HasSubstr("{level}"), Not(HasSubstr("{norms_from}"))));
}

TEST_F(Init, RefusesUnusableOptions) {
  script("two.sh", "exit 0\n");
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {"", "give --reference and --candidate"},
      {"--reference ./two.sh", "--reference requires --candidate"},
      {"--reference ./none.sh --candidate ./two.sh --ranks 2", "no such program: "},
      {"--reference no-such-program --candidate ./two.sh --ranks 2", "no-such-program is not on PATH"},
      {"--reference ./two.sh --candidate ./two.sh", "give --ranks N"},
      {"--reference ' ' --candidate ./two.sh --ranks 2", "--reference: is empty"},
      {"--reference './two.sh && true' --candidate ./two.sh --ranks 2", "is for a shell"},
      {"--reference './two.sh {wrold}' --candidate ./two.sh --ranks 2", "did you mean {world}?"},
      {"--text none.txt", "none.txt: no such file"},
      {"--text two.sh", "a first sweep needs 65 or more"}};
  for (const auto& [options, words] : mistakes) {
    const Ended ended = run("plumbline init " + options);

    EXPECT_EQ(ended.code, 2) << options;
    EXPECT_THAT(ended.output, HasSubstr(words)) << options;
    EXPECT_FALSE(fs::exists(folder_ / "sweep.toml")) << options;
  }
}

TEST_F(Init, WithATextNeedsPlumblinesTrainers) {
  const Ended ended = run("cp " + bin() + "/plumbline alone && ./alone init --text two.txt");

  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.output, HasSubstr("--text is for Plumbline's trainers, which this build does not have"));
}

}  // namespace
}  // namespace plumbline::testing
