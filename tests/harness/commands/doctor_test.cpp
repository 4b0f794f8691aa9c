// SPDX-License-Identifier: BSD-3-Clause
// Summaries of the trainers' answers, for fake machines.
#include "harness/commands/doctor.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <map>

#include "support/error.hpp"
#include "support/visible_gpus.hpp"
#include "tests/environment_variable.hpp"
#include "tests/harness/fake_programs.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Json gpu(const std::string& name) {
  return {{"name", name}, {"capability", 90}, {"total_bytes", 1}, {"uuid", "GPU-1"}};
}

Json trainers(const Json& gpu) {
  return {{"plumbline-reference", {{"gpu", gpu}}},
          {"plumbline-pipeline", {{"gpu", gpu}, {"transports", {"mpi", "threads", "nccl"}}}}};
}

Json machine(const Json& devices) {
  return {{"built", true},
          {"usable", true},
          {"why_not", nullptr},
          {"devices", devices},
          {"why_not_two_ranks_on_one_gpu", "NCCL 2.28.9 refuses two ranks on one GPU"}};
}

std::vector<std::string> texts(const Json& list) {
  return list.get<std::vector<std::string>>();
}

TEST(Doctor, SaysWhatGpusCanAndWhyNotMore) {
  const Json h200 = gpu("NVIDIA H200"), t400 = gpu("NVIDIA T400");
  Json sharing = machine(Json::array({h200})), without_nccl = trainers(machine({h200, h200}));
  sharing["why_not_two_ranks_on_one_gpu"] = nullptr;
  without_nccl["plumbline-pipeline"]["transports"] = {"mpi", "threads"};
  struct Case {
    Json answers;
    std::vector<std::string> can, why_not_more;  ///< parts of what is told; of `can` nothing else but by NCCL
    bool nccl = false;
  };
  const std::vector<Case> cases = {
      {trainers({{"built", false}}), {}, {"make cuda"}},
      // A trainer of another make that does not speak of GPUs, or one that could not be asked.
      {{{"plumbline-reference", Json::object()}, {"plumbline-pipeline", Json::object()}}, {}, {"CPU build"}},
      {trainers({{"built", true}, {"usable", false}, {"why_not", "there is no driver"}}), {}, {"there is no driver"}},
      {trainers(machine(Json::array({h200}))), {"train on one GPU"}, {"has one GPU", "refuses two ranks"}},
      {trainers(sharing), {"train on one GPU", "two ranks on one GPU"}, {}, true},
      {trainers(machine({h200, h200, h200})), {"up to 3 ranks here"}, {"refuses two ranks"}, true},
      {trainers(machine({h200, h200, t400})), {}, {"GPUs 0 and 2 are different models"}, true},
      {trainers(machine({h200, t400})),
       {"with a GPU a rank, up to 2 ranks here"},
       {"GPUs 0 and 1 are different models"},
       true},
      {without_nccl, {"train on one GPU"}, {"these programs lack the NCCL transport"}}};
  for (const auto& [answers, can, why_not_more, nccl] : cases) {
    const Json found = examine_gpus(answers);
    for (const auto& part : can) EXPECT_THAT(texts(found.at("can")), Contains(HasSubstr(part))) << answers;
    for (const auto& part : why_not_more)
      EXPECT_THAT(texts(found.at("why_not_more")), Contains(HasSubstr(part))) << answers;
    if (!nccl) {
      EXPECT_THAT(texts(found.at("can")), SizeIs(can.size())) << answers;
    }
  }
  EXPECT_THAT(texts(examine_gpus(trainers(machine({h200, h200, h200}))).at("why_not_more")), SizeIs(1));
}

/// mpirun: starts as many as asked, and each leaves what a rank of a run leaves.
const char* const launches = R"(export PATH=/usr/bin:/bin
while [ $1 != -n ]; do shift; done; ranks=$2; shift 2
for ((r = 0; r < ranks; r++)); do FAKE_RANK=$r "$@" & done; wait
)";
const char* const pipeline = R"([ $1 = --capabilities ] && { echo '{}'; exit; }
page $3 $FAKE_RANK 0 -1 ${FAKE_RANK}F0; sleep 0.1; ended $3 $FAKE_RANK ok 0
)";

using Programs = std::map<std::string, std::string>;

const Programs good_trainers = {{"plumbline-reference", "echo '{}'\n"}, {"plumbline-pipeline", pipeline}};

/// `programs`: what is on PATH, and nothing else. `folder`: the trainers'.
Json examined_in(const testing::TemporaryFolder& folder, const Programs& programs, const Programs& trainers) {
  for (const auto& [name, body] : trainers) testing::program(folder, name, body);
  for (const auto& [name, body] : programs) testing::program(folder, "path/" + name, body);
  const testing::EnvironmentVariable path("PATH", (folder / "path").c_str());
  return examine_machine(folder.path());
}

Json examined_with(const Programs& programs, const Programs& trainers = good_trainers) {
  return examined_in(testing::TemporaryFolder(), programs, trainers);
}

TEST(Doctor, StartsTwoRanksAsASweepWouldAndSaysThatBothArrived) {
  const Json found = examined_with({{"mpirun", launches}});

  EXPECT_EQ(found.at("two_ranks").at("arrived"), 2) << found.dump();
  EXPECT_TRUE(found.at("two_ranks").at("why_not").is_null());
  EXPECT_THAT(found.at("two_ranks").at("launcher").get<std::string>(), HasSubstr("mpirun "));
  EXPECT_EQ(found.at("usable"), true);
  EXPECT_EQ(found.begin().key(), "usable");
  EXPECT_THAT(doctor_text(found), ::testing::StartsWith("USABLE: "));
}

TEST(Doctor, AnMpirunThatStartsNothingIsReportedFirst) {
  const Json found = examined_with({{"mpirun", "exit 1\n"}});

  EXPECT_EQ(found.at("usable"), false);
  EXPECT_EQ(found.at("two_ranks").at("arrived"), 0);
  EXPECT_THAT(texts(found.at("missing")), Contains(AllOf(HasSubstr("0 of two ranks finished"),
                                                         HasSubstr("mpirun ended with code 1 and started nothing"))));
  EXPECT_THAT(texts(found.at("can")), ::testing::Not(Contains(HasSubstr("sweep over MPI processes"))));
  EXPECT_THAT(doctor_text(found),
              ::testing::StartsWith("NOT USABLE: a sweep of Plumbline's trainers cannot run here; one of commands "
                                    "of your own can\n  0 of two ranks finished"));
}

// As real trainers are given it: a layer and a position for each rank, over MPI.
TEST(Doctor, TheTwoRanksTrainAModelOfALayerForEach) {
  const testing::TemporaryFolder folder;
  const std::string keeps = "[ $1 = --capabilities ] || { mkdir -p ${0%/*}/seen; cp ${1%/*}/*.* ${0%/*}/seen; }\n";
  const Programs trainers = {{"plumbline-reference", "echo '{}'\n"}, {"plumbline-pipeline", keeps + pipeline}};

  EXPECT_EQ(examined_in(folder, {{"mpirun", launches}}, trainers).at("usable"), true);

  const std::string run = testing::bytes_of(folder / "seen/run.toml");
  EXPECT_THAT(run, AllOf(HasSubstr("transport = \"mpi\"\n"), HasSubstr("lengths = [2, 2]\n")));
  const Json model = read_json(folder / "seen/model.json");
  EXPECT_EQ(model.at("num_hidden_layers"), 2);
  EXPECT_EQ(model.at("max_position_embeddings"), 2);
}

TEST(Doctor, AFailedOrSilentRankHasNotArrived) {
  const auto with_second = [](const std::string& what, const std::string& end) {
    const std::string body = "[ \"$FAKE_RANK\" = 1 ] && { page $3 1 0 -1 1F0; sleep 0.1; " + what + "; exit; }\n";
    return examined_with({{"mpirun", launches + end}},
                         {{"plumbline-reference", "echo '{}'\n"}, {"plumbline-pipeline", body + pipeline}});
  };
  const Json failed = with_second("ended $3 1 error 1", "exit 1\n"), silent = with_second(":", "");

  for (const Json& found : {failed, silent}) {
    EXPECT_EQ(found.at("two_ranks").at("arrived"), 1) << found.dump();
    EXPECT_EQ(found.at("usable"), false);
  }
  EXPECT_THAT(texts(failed.at("missing")), Contains(HasSubstr("1 of two ranks finished: rank 1")));
  EXPECT_THAT(texts(silent.at("missing")), Contains(HasSubstr("1 of two ranks finished: ")));
}

TEST(Doctor, IsStoppedByCtrlCAndFindsNothing) {
  const std::string stops =
      "[ \"$1\" = --version ] && exit\nkill -INT " + std::to_string(::getpid()) + "\nexec /bin/sleep 60\n";

  EXPECT_THAT(testing::error_of<SystemError>([&] { examined_with({{"mpirun", stops}}); }), HasSubstr("SIGINT"));
}

TEST(Doctor, EachFailedTrainerIsReportedWithItsCodeAndLastLine) {
  const Json found = examined_with({{"mpirun", launches}},
                                   {{"plumbline-reference", "echo 'plumbline-reference: no libtorch' >&2; exit 127\n"},
                                    {"plumbline-pipeline", "echo 'plumbline-pipeline: no memory' >&2; exit 1\n"}});

  const auto first =
      HasSubstr("plumbline-reference --capabilities ended with code 127: plumbline-reference: no libtorch");
  const auto second = HasSubstr("plumbline-pipeline --capabilities ended with code 1: plumbline-pipeline: no memory");
  const std::vector<std::string> missing = texts(found.at("missing"));
  ASSERT_THAT(missing, ::testing::ElementsAre(first, second));
  EXPECT_THAT(doctor_text(found), HasSubstr("your own can\n  " + missing[0] + "\n  " + missing[1] + "\n\n"));
  EXPECT_TRUE(found.at("two_ranks").is_null());
}

TEST(Doctor, ACommonCauseIsReportedOnce) {
  const testing::TemporaryFolder folder;
  testing::program(folder, "plumbline-reference", "echo '{}'\n");
  testing::program(folder, "plumbline-pipeline", pipeline);
  const testing::EnvironmentVariable temporary("TMPDIR", (folder / "no/such").c_str());
  const Json found = examine_machine(folder.path());

  std::vector<std::string> causes = texts(found.at("missing"));
  std::erase_if(causes, [](const std::string& cause) { return cause.find("TMPDIR") == std::string::npos; });
  EXPECT_THAT(causes, SizeIs(1));
}

TEST(Doctor, WithoutMpirunSweepsCannotRun) {
  const Json found = examined_with({});

  EXPECT_THAT(texts(found.at("missing")), Contains(HasSubstr("mpirun")));
  EXPECT_TRUE(found.at("two_ranks").is_null());
  EXPECT_EQ(found.at("usable"), false);
}

TEST(Doctor, TheJudgeAloneCanSweepUserCommands) {
  const Json found = examined_with({}, {});

  EXPECT_EQ(found.at("usable"), true) << found.dump();
  EXPECT_THAT(texts(found.at("missing")), IsEmpty());
  EXPECT_THAT(texts(found.at("can")), Contains("sweep over commands of your own"));
  EXPECT_THAT(texts(found.at("gpus").at("why_not_more")), Contains(HasSubstr("there are none here")));
  EXPECT_THAT(doctor_text(found),
              AllOf(::testing::StartsWith("USABLE: records can be judged, and sweeps of commands of your own run"),
                    HasSubstr("Plumbline's trainers are not in this program's folder")));
}

TEST(Doctor, OneTrainerWithoutTheOtherIsABrokenSetOfThem) {
  const testing::TemporaryFolder folder;
  testing::program(folder, "plumbline-reference", "echo '{}'\n");
  const Json found = examine_machine(folder.path());

  EXPECT_EQ(found.at("usable"), false);
  EXPECT_THAT(texts(found.at("missing")), Contains(HasSubstr("plumbline-pipeline: no such program")));
}

TEST(Doctor, EveryGpuIsOneResourceForCTest) {
  EXPECT_EQ(ctest_resources(2).dump(),
            R"({"version":{"major":1,"minor":0},"local":[{"gpus":[{"id":"0","slots":1},{"id":"1","slots":1}]}]})");
  EXPECT_EQ(ctest_resources(0).dump(), R"({"version":{"major":1,"minor":0},"local":[{"gpus":[]}]})");
}

TEST(Doctor, GpusAreCountedAsCudaShowsThemElseByTheVariable) {
  const auto counted = [](const char* variable, const Json& gpu) {
    const testing::EnvironmentVariable visible(visible_gpus_variable, variable);
    return count_gpus(trainers(gpu).at("plumbline-pipeline"));
  };
  const Json cpu_build = {{"built", false}};

  EXPECT_EQ(counted("0,1,7", machine({gpu("a"), gpu("a")})).count, 2);
  const GpuCount no_driver = counted("0,1", {{"built", true}, {"usable", false}, {"why_not", "there is no driver"}});
  EXPECT_EQ(no_driver.count, 0);
  EXPECT_EQ(no_driver.why_none, "there is no driver");
  EXPECT_EQ(counted("0,1", cpu_build).count, 2);
  EXPECT_THAT(counted("", cpu_build).why_none, HasSubstr("CUDA_VISIBLE_DEVICES names no GPU"));
  EXPECT_THAT(testing::error_of<InputError>([&] { counted("1,1", machine({gpu("a")})); }),
              HasSubstr("it names GPU 1 twice"));
}

TEST(Doctor, AWrongVariableIsReportedAndASliceIsNotASecondGpu) {
  const testing::EnvironmentVariable wrong(visible_gpus_variable, "MIG-1,MIG-2");
  const Json refused = examine_gpus(trainers({{"built", true}, {"usable", false}, {"why_not", "CUDA sees no GPU"}}));
  const testing::EnvironmentVariable right(visible_gpus_variable, "MIG-1");
  const Json slice = examine_gpus(trainers(machine(Json::array({gpu("NVIDIA H100 MIG 1g.10gb")}))));

  EXPECT_THAT(texts(refused.at("why_not_more")), ::testing::ElementsAre(HasSubstr("name one slice")));
  EXPECT_THAT(texts(slice.at("why_not_more")), Contains(HasSubstr("MIG 1g.10gb is a MIG slice")));
  EXPECT_THAT(texts(slice.at("why_not_more")), ::testing::Not(Contains(HasSubstr("has one GPU"))));
}

}  // namespace
}  // namespace plumbline
