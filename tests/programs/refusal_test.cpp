// SPDX-License-Identifier: BSD-3-Clause
// What a user sees if a run cannot start: one message for all ranks, one exit code, and a folder that the corrected
// command can use.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support/files.hpp"
#include "support/json.hpp"
#include "tests/ended.hpp"
#include "tests/paths.hpp"
#include "tests/programs/bin.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::bin;
using testing::Ended;

class Refusal : public ::testing::Test {
 protected:
  /// A run file in which the `changed` lines replace lines with the same beginning, with `added` at its end.
  std::string run_file(const std::vector<std::string>& changed, const std::string& added = "") {
    std::istringstream in(read_file(testing::fixtures_path() + "/runs/quick.toml"));
    std::string text;
    for (std::string line; std::getline(in, line);) {
      for (const auto& [from, to] : {std::pair{"../models", testing::fixtures_path() + "/models"},
                                     std::pair{"../corpus", testing::fixtures_path() + "/corpus"}}) {
        if (const auto at = line.find(from); at != std::string::npos) line.replace(at, 9, to);
      }
      for (const auto& other : changed) {
        if (line.substr(0, line.find(' ')) == other.substr(0, other.find(' '))) line = other;
      }
      text += line + "\n";
    }
    const auto path = folder_ / "run.toml";
    std::ofstream(path) << text << added;
    return path.string();
  }

  testing::TemporaryFolder folder_;

  Ended on_three_ranks(const std::string& arguments) {
    return end_of(PLUMBLINE_MPI_COMMAND " " + bin() + "/plumbline-pipeline " + arguments);
  }
  Ended on_one(const std::string& arguments) { return end_of(bin() + "/plumbline-reference " + arguments); }
  std::string record() const { return " --quiet --record " + (folder_ / "record").string(); }
  bool record_is_free() const {
    const auto path = folder_ / "record";
    return !std::filesystem::exists(path) || std::filesystem::is_empty(path);
  }

  Ended end_of(const std::string& command) const { return testing::end_of(command, folder_.path()); }
};

/// Contains the text exactly once, not once for each rank.
MATCHER_P(SaysOnce, text, "") {
  const auto at = arg.find(text);
  return at != std::string::npos && arg.find(text, at + 1) == std::string::npos;
}

TEST_F(Refusal, ReportsAnUnknownKeyOnceForAllRanks) {
  const auto run = run_file({}, "lerning_rate = 1e-3\n");

  const Ended ended = on_three_ranks(run + record());

  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.output, SaysOnce("unknown key train.lerning_rate; did you mean learning_rate?"));
  EXPECT_TRUE(record_is_free());
}

// An error of one rank only; the other ranks wait, and end with it.
TEST_F(Refusal, ReportsAnErrorOfOneRankOnceWithTheRank) {
  const std::string good = run_file({});
  const std::string bad = folder_.file("bad.toml", read_file(good) + "lerning_rate = 1e-3\n").string();
  const auto training = [&](const std::string& run) { return bin() + "/plumbline-pipeline " + run + record(); };

  const Ended ended = testing::end_of(
      PLUMBLINE_MPI_COMMAND " " + testing::with_another_rank_1(training(good), training(bad)), folder_.path());

  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.output, SaysOnce("plumbline-pipeline: rank 1: " + bad + ":"));
  EXPECT_THAT(ended.output, SaysOnce("unknown key train.lerning_rate"));
  EXPECT_TRUE(record_is_free());
}

// As if another MPI started them: with its variables, which this MPI does not know.
TEST_F(Refusal, NamesBothMpisIfTheLauncherIsAnotherMpis) {
  const std::string training = bin() + "/plumbline-pipeline " + run_file({}) + record();

  const Ended ended = testing::end_of("(export OMPI_COMM_WORLD_SIZE=2; OMPI_COMM_WORLD_RANK=1 " + training +
                                          " & OMPI_COMM_WORLD_RANK=0 " + training + "; code=$?; wait; exit $code)",
                                      folder_.path());

  EXPECT_EQ(ended.code, 3);
  EXPECT_THAT(ended.output,
              SaysOnce("plumbline-pipeline: Open MPI's mpirun started 2 processes, each alone in its MPI world: "
                       "they run with "));
  EXPECT_TRUE(record_is_free());
}

TEST_F(Refusal, ReportsAWrongOptionOnceForAllRanks) {
  const Ended ended = on_three_ranks("--recrod /nowhere");

  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.output, SaysOnce("--recrod"));
}

TEST_F(Refusal, ReportsARunTooLargeForTheMachineOnceWithItsSize) {
  Json config = read_json(testing::fixtures_path() + "/models/stories260k/config.json");
  config.update({{"hidden_size", 16384}, {"intermediate_size", 65536}, {"num_hidden_layers", 100}});
  config.erase("head_dim");
  const auto model = folder_.file("config.json", config.dump());
  const auto run = run_file({"config = \"" + model.string() + "\""});

  const Ended three = on_three_ranks(run + record()), one = on_one(run + record());

  EXPECT_EQ(three.code, 3);
  EXPECT_THAT(three.output, SaysOnce("this machine, for all 3 ranks, has "));
  EXPECT_THAT(three.output, SaysOnce(" of memory free, and the plan is at least 5."));
  EXPECT_TRUE(record_is_free());
  EXPECT_EQ(one.code, 3);
  EXPECT_THAT(one.output, SaysOnce("the machine has "));
  EXPECT_THAT(one.output, SaysOnce(" of memory free, and the plan is at least 5."));
}

TEST_F(Refusal, BalanceThatDoesNotAddUpNamesTheRunFile) {
  const auto run = run_file({}, "[pipeline]\nbalance = [2, 1, 1]\n");

  const Ended ended = on_three_ranks(run + record());

  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.output, SaysOnce(run + ": pipeline.balance = [2, 1, 1] adds up to 4 layers, the model has 5"));
  EXPECT_TRUE(record_is_free());
}

// Each rank finds the error only when it fills its own parameters.
TEST_F(Refusal, ReportsWeightsOfAnotherShapeOnceAndFreesTheFolder) {
  const std::string config = "config = \"" + testing::fixtures_path() + "/models/stories260k/config.json\"\n";
  const auto run =
      run_file({config + "weights = \"" + testing::fixtures_path() + "/hf_golden/tied_gqa/model.safetensors\""});

  for (const Ended& ended : {on_three_ranks(run + record()), on_one(run + record())}) {
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.output,
                SaysOnce("model.embed_tokens.weight: by the config its shape is [512x64], found [128x64]"));
    EXPECT_TRUE(record_is_free());
  }
}

TEST_F(Refusal, DoesNotChangeTheFolderOfAnotherRun) {
  const auto run = run_file({});
  make_folder(folder_ / "record");
  std::ofstream(folder_ / "record" / "manifest.json") << "another run's";

  for (const Ended& ended : {on_three_ranks(run + record()), on_one(run + record())}) {
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.output, SaysOnce("is not empty, so it may hold another run"));
  }
  EXPECT_EQ(read_file(folder_ / "record" / "manifest.json"), "another run's");
}

// Errors of a list are found before anything trains, whoever made the list.
TEST_F(Refusal, ReportsADeadlockingScheduleOnceWithItsCycle) {
  const auto run = run_file({});
  const auto file = folder_.file("circle.csv",
                                 "0F0,0B0,0F1,0B1,0F2,0B2,0F3,0B3\n1F0,1F1,1F2,1F3,1B0,1B1,1B2,1B3\n"
                                 "2F0,2B0,2F1,2B1,2F2,2B2,2F3,2B3\n");

  const Ended ended = on_three_ranks(run + " --schedule " + file.string() + record());

  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.output,
              SaysOnce("0B0 (rank 0, position 1) needs 1B0, before which rank 1 must get past 1F1 (rank 1, "
                       "position 1), which needs 0F1, before which rank 0 must get past 0B0"));
  EXPECT_TRUE(record_is_free());
}

TEST_F(Refusal, SuggestsSizesThatFitTheSchedule) {
  const auto run = run_file({});
  const std::string for_two = " --schedule " + testing::fixtures_path() + "/schedules/zbv-p2-m4.csv";

  for (const auto& [options, words] : {std::pair{std::string(" --schedule dualpipe-v"), "at least 2 microbatches"},
                                       std::pair{for_two,
                                                 "has rows for 2 ranks, the run has 3 ranks; start it with a "
                                                 "world size of 2"}}) {
    const Ended ended = on_three_ranks(run + options + record());

    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.output, SaysOnce(words));
    EXPECT_TRUE(record_is_free());
  }
}

// If the machine refuses it, it is not the user's mistake: 3, not 2. (Even root cannot make folders in /proc.)
TEST_F(Refusal, AnUnwritableRecordIsASystemError) {
  const auto run = run_file({});

  for (const Ended& ended :
       {on_three_ranks(run + " --quiet --record /proc/record"), on_one(run + " --quiet --record /proc/record")}) {
    EXPECT_EQ(ended.code, 3);
    EXPECT_THAT(ended.output, SaysOnce("/proc/record"));
  }
}

TEST_F(Refusal, NamesAnotherLibTorchsVersion) {
  const std::string other = "env LD_PRELOAD=" PLUMBLINE_OTHER_LIBTORCH " ASAN_OPTIONS=verify_asan_link_order=0 ";
  const std::string options = " " + run_file({}) + record();

  for (const std::string& command :
       {other + bin() + "/plumbline-reference", PLUMBLINE_MPI_COMMAND " " + other + bin() + "/plumbline-pipeline"}) {
    const Ended ended = end_of(command + options);

    EXPECT_EQ(ended.code, 3);
    EXPECT_THAT(ended.output, SaysOnce("LibTorch 2.9.1 is loaded, but this program was compiled for "));
    EXPECT_TRUE(record_is_free());
  }
}

// The loader ends such a program before it can print its own message.
TEST_F(Refusal, DoctorAndSweepsNameAnIncompatibleLibTorch) {
  const std::string other = "LD_LIBRARY_PATH=" PLUMBLINE_EMPTY_LIBTORCH " " + bin() + "/plumbline ";
  const std::string words = "the LibTorch in " PLUMBLINE_EMPTY_LIBTORCH " is loaded, but lacks _Z";

  const Ended doctor = end_of(other + "doctor"),
              sweep = end_of(other + "sweep " + testing::fixtures_path() + "/sweeps/quick.toml --out " +
                             (folder_ / "sweep").string());
  EXPECT_EQ(doctor.code, 3);
  EXPECT_THAT(doctor.output, ::testing::HasSubstr(words));
  EXPECT_THAT(doctor.output, ::testing::HasSubstr("remove the other LibTorch from LD_LIBRARY_PATH"));
  EXPECT_EQ(sweep.code, 1);  // no case ran
  EXPECT_THAT(sweep.output, ::testing::HasSubstr(words));
}

// The CUDA build's own refusals are in tests/gpu.
TEST_F(Refusal, GpusInACpuBuildNameTheOtherBuild) {
  if (on_one("--capabilities").output.find("\"built\": true") != std::string::npos)
    GTEST_SKIP() << "this is no CPU build";
  const auto run = run_file({});

  for (const Ended& ended :
       {on_three_ranks(run + " --device cuda" + record()), on_one(run + " --device cuda" + record())}) {
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.output, SaysOnce("this is a CPU build; make cuda builds one that can use GPUs"));
    EXPECT_TRUE(record_is_free());
  }
}

TEST_F(Refusal, NcclInACpuBuildNamesTheTransports) {
  if (on_one("--capabilities").output.find("\"built\": true") != std::string::npos)
    GTEST_SKIP() << "this is no CPU build";

  const Ended ended = on_three_ranks(run_file({}) + " --transport nccl" + record());

  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.output, SaysOnce("transport \"nccl\" is not in this build; it has mpi, threads; make cuda"));
}

}  // namespace
}  // namespace plumbline
