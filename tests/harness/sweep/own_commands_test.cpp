// SPDX-License-Identifier: BSD-3-Clause
// Sweeps of users' commands: a shell script replaces the trainer and provides a prepared record.
#include "harness/sweep/prepared_sweep.hpp"
#include "support/hash.hpp"
#include "tests/harness/sweep/run_sweep.hpp"
#include "tests/record/mesh_json.hpp"

namespace plumbline::testing {
namespace {

/// $1 the world size, $2 the record, $3 what to do; started in the sweep file's folder.
const char* const their_trainer = R"sh(
world=$1 record=$2 how=$3
echo "$world $how $GREETING" >> calls
source "./do-$how"
)sh";

class OwnCommands : public RunSweep {
 protected:
  OwnCommands() {
    options_.trainers = folder_ / "no-such-folder";
    services_.judge = judge_cell;
    fs::create_directories(place_);
    program(folder_, "my place/train.sh", their_trainer);
    write_run(synthetic_reference({}), place_ / "prepared/w1");
    write_run(synthetic_candidate({}), place_ / "prepared/w2");
    forget_processes(place_ / "prepared");
    how("right", "cp -r prepared/w$world $record");
    sweep_file("world_sizes = [2]\nschedules = [\"1f1b\"]\n");
  }

  void how(const std::string& name, const std::string& body) { folder_.file("my place/do-" + name, body + "\n"); }

  void sweep_file(const std::string& text, const std::string& candidate = trains("{how}"),
                  const std::string& reference = trains("right")) {
    const bool has_how = candidate.find("{how}") != std::string::npos;
    options_.sweep_file =
        folder_.file("my place/theirs.toml",
                     "reference = " + reference + "\ncandidate = " + candidate + "\n" + text +
                         (has_how && text.find("[[") == std::string::npos && text.find("values") == std::string::npos
                              ? "values = { how = \"right\" }\n"
                              : ""));
  }
  static std::string trains(const std::string& what) {
    return "[\"./train.sh\", \"{world}\", \"{record}\", \"" + what + "\"]";
  }
  /// One case of two ranks in which the candidate does this.
  Verdict verdict_on(const std::string& body, const std::string& more = "") {
    how("else", body);
    sweep_file(more + "[[cell]]\nworld_size = 2\nschedule = \"1f1b\"\nhow = \"else\"\n");
    return run().verdict;
  }
  std::string refusal(const std::string& text, const std::string& candidate = trains("{how}"),
                      const std::string& reference = trains("right")) {
    sweep_file(text, candidate, reference);
    return error_of<InputError>([&] { prepare_sweep(options_); });
  }
  static const CheckResult& check(const CellVerdict& cell, const std::string& name) {
    return *std::ranges::find(cell.checks, name, &CheckResult::name);
  }

  const fs::path place_ = folder_ / "my place";
};

// Other files in a command may be its outputs, as this one.
TEST_F(OwnCommands, MayWriteFilesThatTheyNameButTheSweepStopsIfTheirProgramChanges) {
  folder_.file("my place/log.txt", "from before\n");
  const auto logging = [](const std::string& how) {
    return "[\"./train.sh\", \"{world}\", \"{record}\", \"" + how + "\", \"log.txt\"]";
  };
  how("right", "echo trained >> log.txt; cp -r prepared/w$world $record");
  sweep_file("world_sizes = [2]\nschedules = [\"1f1b\"]\n", logging("{how}"), logging("right"));
  EXPECT_TRUE(run().verdict.holds) << bytes_of(folder_ / "log");

  options_.out = folder_ / "second";
  how("right",
      "[ $world = 1 ] || { cp train.sh new; echo '# edited' >> new; mv new train.sh; }; cp -r prepared/w$world "
      "$record");
  EXPECT_THAT(error_of<SystemError>([&] { run(); }), HasSubstr("train.sh changed after the sweep began"));

  for (const auto& [script, first_line] : {std::pair("train.py", "pass\n"), std::pair("settings", "#!/bin/bash\n")}) {
    options_.out = folder_ / "of" / script;
    folder_.file("my place/" + std::string(script), first_line);
    how("right", std::string("echo '# edited' >> ") + script + "; cp -r prepared/w$world $record");
    const std::string command = std::string(R"(["./train.sh", "{world}", "{record}", "right", ")") + script + "\"]";
    sweep_file("world_sizes = [2]\nschedules = [\"1f1b\"]\n", command, command);
    EXPECT_THAT(error_of<SystemError>([&] { run(); }),
                HasSubstr(std::string(script) + " changed after the sweep began"));
  }
}

TEST_F(OwnCommands, HoldIfTheRecordsDoWithoutOurPrograms) {
  const auto result = run();

  ASSERT_THAT(finished(result.verdict), ElementsAre("1f1b-w2"));
  EXPECT_TRUE(result.verdict.holds) << bytes_of(folder_ / "log");
  EXPECT_EQ(bytes_of(place_ / "calls"), "1 right \n2 right \n") << "the reference once, and each in the file's folder";
  EXPECT_EQ(result.verdict.cells[0].optimizer, "adamw") << "as the record tells";
  EXPECT_GT(check(result.verdict.cells[0], "gradients").compared.at("tensors"), 0);
  EXPECT_THAT(bytes_of(folder_ / "out/launches/1f1b-w2/command.txt"),
              AllOf(HasSubstr("cd '" + place_.string() + "' && "), HasSubstr("cells/1f1b-w2 right")));
}

TEST_F(OwnCommands, OnlySettingsInTheFileAreRequested) {
  sweep_file("steps = 2\nmicrobatches = 5\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n");

  const auto result = run();

  EXPECT_TRUE(result.verdict.holds);
  EXPECT_EQ(read_json(folder_ / "out/launches/1f1b-w2/request.json"),
            Json::parse(R"({"schema": "plumbline-request/1", "world_size": 2, "schedule": {"name": "1f1b"}, "steps": 2,
                            "microbatch_count": 5})"));
  EXPECT_THAT(check(result.verdict.cells[0], "as_asked").reason,
              AllOf(HasSubstr("not requested"), HasSubstr("the candidate seed"), Not(HasSubstr("candidate steps"))));
}

TEST_F(OwnCommands, HoldAlthoughAnExternalRecordLacksOptionalParts) {
  for (const std::string world : {"w1", "w2"}) {
    Json manifest = read_json(place_ / "prepared" / world / "manifest.json");
    manifest["role"] = "external";
    write_json(place_ / "prepared" / world / "manifest.json", manifest);
  }
  fs::remove(place_ / "prepared/w1/rank-0/saved.csv");

  const auto result = run();

  EXPECT_TRUE(result.verdict.holds) << bytes_of(folder_ / "log");
  EXPECT_EQ(check(result.verdict.cells[0], "memory").outcome, Outcome::incomplete);
  EXPECT_FALSE(check(result.verdict.cells[0], "memory").required);
}

TEST_F(OwnCommands, ARunThatDiffersFromItsRequestFails) {
  for (const std::string asked :
       {"steps = 3", "microbatches = 4", "seed = 77", "dtype = \"float64\"", "level = \"dump\""}) {
    options_.out = folder_ / ("out-" + hash_hex(asked).substr(0, 6));
    sweep_file(asked + "\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n");
    const auto result = run();
    EXPECT_FALSE(result.verdict.holds) << asked;
    EXPECT_EQ(check(result.verdict.cells[0], "as_asked").outcome, Outcome::differs) << asked;
  }
  options_.out = folder_ / "out-schedule";
  sweep_file("world_sizes = [2]\nschedules = [\"1F1B\"]\n");
  const auto result = run();
  EXPECT_THAT(check(result.verdict.cells[0], "as_asked").reason, HasSubstr("requested was 1F1B"));
}

/// Two data parallel pipelines of `ranks`, made from one prepared record; the second has other data.
void make_replicas(const fs::path& prepared, const fs::path& whole, std::int64_t ranks) {
  for (std::int64_t replica = 0; replica < 2; ++replica) {
    const fs::path record = whole / ("replica-" + std::to_string(replica));
    fs::create_directories(whole);
    fs::copy(prepared, record, fs::copy_options::recursive);
    Json manifest = read_json(record / "manifest.json"), replicas = Json::array({Json::array(), Json::array()});
    for (std::int64_t rank = 0; rank < 2 * ranks; ++rank) replicas[static_cast<std::size_t>(rank % 2)].push_back(rank);
    manifest["role"] = "external";
    manifest["mesh"] = mesh_json({{"dp", 2}, {"pp", ranks}}, replicas, replica);
    write_json(record / "manifest.json", manifest);
  }
}

TEST_F(OwnCommands, OfAMeshEachReplicaIsJudged) {
  make_replicas(place_ / "prepared/w1", place_ / "prepared/mesh-w1", 1);
  make_replicas(place_ / "prepared/w2", place_ / "prepared/mesh-w4", 2);
  how("right", "cp -r prepared/mesh-w$world $record");
  sweep_file("checks = [\"gradients\", \"parameters\"]\nworld_sizes = [4]\nschedules = [\"1f1b\"]\n");

  const auto whole = run();

  EXPECT_TRUE(whole.verdict.holds) << bytes_of(folder_ / "log");
  EXPECT_THAT(check(whole.verdict.cells[0], "gradients").reason, HasSubstr("each of 2 places"));
  options_.out = folder_ / "all-checks";
  sweep_file("world_sizes = [4]\nschedules = [\"1f1b\"]\n");
  EXPECT_THAT(check(run().verdict.cells[0], "replicas").reason, HasSubstr("dp 1 is fed the same microbatches"));
  options_.out = folder_ / "another-world";
  how("right", "[ $world = 1 ] && mesh=mesh-w1 || mesh=mesh-w4; cp -r prepared/$mesh $record");
  sweep_file("world_sizes = [2]\nschedules = [\"1f1b\"]\n");
  EXPECT_THAT(check(run().verdict.cells[0], "as_asked").reason,
              HasSubstr("the candidate: world_size is 4, requested was 2"));
  options_.out = folder_ / "with-its-axes";
  sweep_file("checks = [\"as_asked\"]\nworld_sizes = [2]\nschedules = [\"1f1b\"]\nmesh = { dp = 2 }\n");
  how("right", "[ $world = 2 ] && mesh=mesh-w1 || mesh=mesh-w4; cp -r prepared/$mesh $record");
  EXPECT_EQ(check(run().verdict.cells[0], "as_asked").outcome, Outcome::holds);
  options_.out = folder_ / "with-other-axes";
  sweep_file("checks = [\"as_asked\"]\nworld_sizes = [2]\nschedules = [\"1f1b\"]\nmesh = { tp = 2 }\n");
  EXPECT_THAT(check(run().verdict.cells[0], "as_asked").reason, HasSubstr("mesh.tp is none, requested was 2"));
  options_.out = folder_ / "one-missing";
  fs::remove_all(place_ / "prepared/mesh-w4/replica-1");
  EXPECT_THAT(check(run().verdict.cells[0], "completion").reason, HasSubstr("replica-1: does not exist"));
}

TEST_F(OwnCommands, ARecordOfAnotherWorldSizeFails) {
  const auto verdict = verdict_on("cp -r prepared/w1 $record");

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(check(verdict.cells[0], "as_asked").reason, HasSubstr("world_size is 1, requested was 2"));
}

TEST_F(OwnCommands, ACandidateWithoutARecordIsReportedWithItsLastLine) {
  const auto verdict = verdict_on("echo 'no module called torch' >&2; exit 7");

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(check(verdict.cells[0], "completion").reason,
              AllOf(HasSubstr("ended with code 7"), HasSubstr("no module called torch")));
  EXPECT_EQ(verdict.cells[0].second_run->outcome, SecondRun::Outcome::fails_again);
}

TEST_F(OwnCommands, ACandidateThatExitsWithZeroButLeavesNoRecordFails) {
  const auto verdict = verdict_on("exit 0");

  EXPECT_FALSE(verdict.holds);
  EXPECT_EQ(check(verdict.cells[0], "completion").outcome, Outcome::differs);
}

TEST_F(OwnCommands, ACandidateInTheBackgroundIsKilledAndReported) {
  const auto verdict = verdict_on("(setsid sleep 600 & echo $! > background); exit 0");

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(check(verdict.cells[0], "completion").reason, HasSubstr("running in the background"));
  EXPECT_FALSE(process_state(std::atoi(bytes_of(place_ / "background").c_str())));
}

TEST_F(OwnCommands, ACandidateThatIgnoresSigtermIsKilledAtItsTimeLimit) {
  const auto verdict =
      verdict_on("trap '' TERM; echo $$ > stubborn; while :; do sleep 0.1; done", "time_limit_s = 0.7\n");

  EXPECT_FALSE(verdict.holds);
  EXPECT_THAT(check(verdict.cells[0], "completion").reason, HasSubstr("the time limit of 0.7 s passed"));
  EXPECT_FALSE(process_state(std::atoi(bytes_of(place_ / "stubborn").c_str())));
}

TEST_F(OwnCommands, ACandidateThatPrintsEndlesslyDoesNotFillTheDisk) {
  const auto verdict = verdict_on("head -c 200000000 /dev/zero | tr '\\0' x; echo; echo the end; " +
                                  std::string("cp -r prepared/w2 $record"));

  EXPECT_TRUE(verdict.holds) << bytes_of(folder_ / "log");
  const fs::path said = folder_ / "out/launches/how-else-1f1b-w2/stdout.txt";
  EXPECT_LT(fs::file_size(said), 10U << 20);
  EXPECT_THAT(bytes_of(said).substr(fs::file_size(said) - 20), HasSubstr("the end\n"));
}

TEST_F(OwnCommands, CasesWithEqualReferenceCommandsShareTheReference) {
  how("twisted", "cp -r prepared/w$world $record");
  sweep_file(
      "values = { how = \"right\", order = \"up\" }\nenvironment = { GREETING = \"{order}\" }\n"
      "world_sizes = [2]\nschedules = [\"1f1b\"]\n"
      "[[cell]]\nworld_size = 2\nschedule = \"1f1b\"\nhow = \"twisted\"\n"
      "[[cell]]\nworld_size = 2\nschedule = \"1f1b\"\norder = \"down/{{\"\n");

  const auto result = run();

  ASSERT_THAT(finished(result.verdict), SizeIs(3));
  EXPECT_TRUE(result.verdict.holds) << bytes_of(folder_ / "log");
  EXPECT_EQ(result.verdict.cells[1].id, "how-twisted-1f1b-w2");
  EXPECT_EQ(result.verdict.cells[1].variant, "how twisted");
  EXPECT_EQ(result.verdict.cells[1].reference, result.verdict.cells[0].reference);
  EXPECT_NE(result.verdict.cells[2].reference, result.verdict.cells[0].reference) << "its environment is another";
  EXPECT_EQ(bytes_of(place_ / "calls"), "1 right up\n1 right down/{{\n2 right up\n2 twisted up\n2 right down/{{\n");
}

TEST_F(OwnCommands, AChangedScriptRunsAgain) {
  run();
  options_.resume = true;
  EXPECT_TRUE(run().verdict.holds);
  EXPECT_EQ(bytes_of(place_ / "calls"), "1 right \n2 right \n") << "nothing was run again";

  std::ofstream(place_ / "train.sh", std::ios::app) << "# another\n";
  EXPECT_TRUE(run().verdict.holds);
  EXPECT_EQ(bytes_of(place_ / "calls"), "1 right \n2 right \n1 right \n2 right \n");
  EXPECT_THAT(bytes_of(folder_ / "log"), HasSubstr("./train.sh changed: 2 of 2 runs are repeated"));
}

TEST_F(OwnCommands, ThePlaceholderLauncherBecomesTheLaunchersWords) {
  program(folder_, "my place/their-launcher",
          "[ $1 = -n ] && n=$2; shift 2; echo \"launched $n\" >> calls; exec \"$@\"");
  sweep_file("launcher = \"" + (folder_ / "launch").string() + " -n {world}\"\nworld_sizes = [2]\n",
             R"(["{launcher}", "./train.sh", "{world}", "{record}", "right"])");
  fs::create_symlink(place_ / "their-launcher", folder_ / "launch");

  EXPECT_TRUE(run().verdict.holds);
  EXPECT_THAT(bytes_of(place_ / "calls"), HasSubstr("launched 2\n2 right"));
}

TEST_F(OwnCommands, WithAPlaceholderForTheLevelTheSecondRunDumps) {
  how("else",
      "cp -r prepared/w2 $record; sed -i '$s/[0-9a-f]\\{32\\}/" + other_digest + "/' $record/rank-0/tensors.csv");
  sweep_file("[[cell]]\nworld_size = 2\nlevel = \"full\"\n",
             R"(["./train.sh", "{world}", "{record}", "else", "{level}"])",
             R"(["./train.sh", "{world}", "{record}", "right", "{level}"])");

  const auto result = run();

  EXPECT_FALSE(result.verdict.holds);
  EXPECT_THAT(bytes_of(folder_ / "out/launches/dump-level-full-w2/command.txt"), HasSubstr("else dump"));
}

TEST_F(OwnCommands, WithoutAPlaceholderForTheLevelInBothTheSecondRunDoesNotDump) {
  how("else",
      "cp -r prepared/w2 $record; sed -i '$s/[0-9a-f]\\{32\\}/" + other_digest + "/' $record/rank-0/tensors.csv");
  const std::string with = ", \"{level}\"]", told = R"(["./train.sh", "{world}", "{record}", )";
  const auto expect_no_dump = [&](const std::string& candidate, const std::string& reference) {
    sweep_file("[[cell]]\nworld_size = 2\nlevel = \"full\"\n", told + candidate, told + reference);
    const auto result = run();
    EXPECT_THAT(result.verdict.cells[0].second_run->words, HasSubstr("/again/level-full-w2: "));
    EXPECT_FALSE(fs::exists(*options_.out / "launches/dump-level-full-w2"));
  };
  expect_no_dump("\"else\"" + with, "\"right\"]");
  options_.out = folder_ / "another";
  expect_no_dump("\"else\"]", "\"right\"" + with);
}

TEST_F(OwnCommands, APlaceholderForThePortIsAFreePort) {
  sweep_file("world_sizes = [2]\n", R"(["./train.sh", "{world}", "{record}", "right", "--port={port}"])");

  EXPECT_TRUE(run().verdict.holds);

  EXPECT_THAT(bytes_of(folder_ / "out/launches/w2/command.txt"),
              ::testing::ContainsRegex("right --port=[1-9][0-9]{3,4}\n"));
}

TEST_F(OwnCommands, ARanksLastActionIsReadFromTheRecordOfTheCommand) {
  const auto verdict = verdict_on("page $record 0 1 -1 0B3; page $record 1 1 -1 1B3; sleep 0.1; kill -KILL $$");

  EXPECT_THAT(check(verdict.cells[0], "completion").reason, HasSubstr("0B3"));
}

TEST_F(OwnCommands, ParallelRunsOnGpusSeeOnlyTheirSlotsGpus) {
  options_.jobs = 2;
  setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
  sweep_file("device = \"cuda\"\nchecks = [\"gradients\"]\nworld_sizes = [2]\n", trains("right"));
  run();
  EXPECT_THAT(bytes_of(folder_ / "out/launches/w2/command.txt"), HasSubstr("env CUDA_VISIBLE_DEVICES=0,1 "));
  EXPECT_THAT(bytes_of(folder_ / "out/launches/w2/command.txt"), HasSubstr("/w2 right"));

  options_.out = folder_ / "named";
  sweep_file(
      "device = \"cuda\"\nenvironment = { CUDA_VISIBLE_DEVICES = \"7\" }\nchecks = [\"gradients\"]\nworld_sizes = "
      "[2]\n",
      trains("right"));
  run();
  EXPECT_THAT(bytes_of(folder_ / "named/launches/w2/command.txt"), HasSubstr("env CUDA_VISIBLE_DEVICES=7 "));
  unsetenv("CUDA_VISIBLE_DEVICES");
}

}  // namespace
}  // namespace plumbline::testing
