// SPDX-License-Identifier: BSD-3-Clause
// `plumbline-pipeline --ranks N` as a user types it, and the commands and figures of the page on training.
#include <gmock/gmock.h>

#include <regex>

#include "record/manifest.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "tests/ended.hpp"
#include "tests/paths.hpp"
#include "tests/programs/bin.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int saved_and_stopped = 4;

/// Runs in its own folder, and without the variables with which the tests let root start mpirun.
class OwnRanks : public ::testing::Test {
 protected:
  Ended run(const std::string& command) const {
    return end_of("( cd " + folder_.path().string() +
                      " && unset OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM SLURM_JOB_ID && PATH=" + bin() +
                      ":$PATH && " + command + " )",
                  folder_.path());
  }
  TemporaryFolder folder_;
  const std::string quick_ = fixtures_path() + "/runs/quick.toml";
};

TEST_F(OwnRanks, AreMpirunProcessesEvenForRootAndBeyondTheCores) {
  const Ended ended = run("plumbline-pipeline " + quick_ + " --ranks 3 --quiet --record r");

  ASSERT_EQ(ended.code, 0) << ended.output;
  const Manifest manifest = read_manifest(folder_ / "r");
  EXPECT_EQ(manifest.world_size, 3);
  EXPECT_EQ(manifest.transport, "mpi");
  const auto command = manifest.json.at("command").get<std::vector<std::string>>();
  EXPECT_THAT(command, ElementsAre(HasSubstr("plumbline-pipeline"), quick_, "--quiet", "--record", "r"));
}

TEST_F(OwnRanks, PassOnTheRunsExitCode) {
  fs::create_directories(folder_ / "taken/of-another-run");
  EXPECT_EQ(run("plumbline-pipeline " + quick_ + " --ranks=2 --record taken").code, 2);
  EXPECT_EQ(run("plumbline-pipeline " + quick_ + " --ranks 9 --schedule 2f2b --record r").code, 2);
}

TEST_F(OwnRanks, AreRefusedUnderALauncherAndWithoutAKnownMpirun) {
  const std::string program = bin() + "/plumbline-pipeline ", options = quick_ + " --ranks 2 --record r";
  const Ended nested = run(PLUMBLINE_MPI_LAUNCHER " --allow-run-as-root -n 2 " + program + options);
  const Ended slurm = run("SLURM_JOB_ID=7 " + program + options);
  const Ended none = run("PATH=/nowhere " + program + options);
  const Ended unknown =
      run("printf '#!/bin/sh\\necho Fancy MPI 1' > mpirun && chmod +x mpirun && PATH=.:$PATH " + program + options);

  EXPECT_EQ(nested.code, 2);
  EXPECT_THAT(nested.output, HasSubstr("--ranks: mpirun or srun started this process"));
  EXPECT_EQ(slurm.code, 2);
  EXPECT_THAT(slurm.output, HasSubstr("start them with srun -n 2"));
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.output, HasSubstr("mpirun, which is not on PATH; install"));
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.output, HasSubstr("mpirun --version is of an unknown MPI (\"Fancy MPI 1\")"));
  EXPECT_FALSE(fs::exists(folder_ / "r"));
}

/// Follows docs/training.md from its first line in a new folder, with fewer steps.
class TrainingPage : public OwnRanks {
 protected:
  TrainingPage() {
    folder_.file("config.json", block("json"));
    folder_.file("run.toml", block("toml"));
    fs::create_directory(folder_ / "my-text");
    const std::string text = source_path() + "/scripts/kept-text ";
    EXPECT_EQ(run(text + "40000 > my-text/one.txt && " + text + "20000 > my-validation.txt").code, 0);
  }
  /// The first code block in this language.
  std::string block(const std::string& language) const {
    const auto begin = page_.find("\n```" + language + "\n") + language.size() + 5;
    return page_.substr(begin, page_.find("\n```", begin) + 1 - begin);
  }
  Json saved(const std::string& folder) const { return read_json(folder_.path() / folder / "latest/checkpoint.json"); }
  const std::string page_ = read_file(source_path() + "/docs/training.md");
};

TEST_F(TrainingPage, NamesTheModelsSize) {
  std::smatch said;
  ASSERT_TRUE(std::regex_search(page_, said, std::regex("([0-9,]+) parameters")));
  const std::string figure = std::regex_replace(said[1].str(), std::regex(","), "");

  EXPECT_THAT(run("plumbline-reference run.toml --check").output, HasSubstr(figure + " parameters"));
}

TEST_F(TrainingPage, CommandsTrainAndResumeWithTheBitsOfOneDevice) {
  const std::string commands = block("sh");
  std::vector<std::string> each;
  const std::regex command("plumbline-[^#\n]*[^#\n ]");
  for (std::sregex_iterator line(commands.begin(), commands.end(), command), end; line != end; ++line)
    each.push_back(line->str());
  ASSERT_EQ(each.size(), 3U) << commands;

  // Kills it by a signal after the first step.
  const Ended killed = run("{ exec " + each[0] +
                           " 2> said & }; p=$!; for i in $(seq 3000); do grep -q 'step 1' said && break; "
                           "sleep 0.05; done; kill -TERM $p; wait $p");
  EXPECT_EQ(killed.code, saved_and_stopped) << killed.output << read_file(folder_ / "said");
  const std::int64_t first = saved("checkpoints").at("steps");
  ASSERT_LT(first, 2000);
  for (const std::int64_t more : {1, 2}) {
    const std::int64_t steps = first + more;
    const Ended resumed = run(each[static_cast<std::size_t>(more)] + " --stop-after " + std::to_string(steps));
    EXPECT_EQ(resumed.code, 0) << resumed.output;
    EXPECT_EQ(saved("checkpoints").at("steps"), steps);
  }

  const Ended whole =
      run("plumbline-reference run.toml --quiet --checkpoint whole --stop-after " + std::to_string(first + 2));
  ASSERT_EQ(whole.code, 0) << whole.output;
  EXPECT_EQ(saved("checkpoints").at("digests"), saved("whole").at("digests"));
}

}  // namespace
}  // namespace plumbline::testing
