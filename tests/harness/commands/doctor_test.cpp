// What the trainers' answers come down to, for machines made up for it.
#include "harness/commands/doctor.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include "tests/harness/fake_programs.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

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

TEST(Doctor, ACpuBuildSaysHowToBuildForGpus) {
  const Json found = examine_gpus(trainers({{"built", false}}));

  EXPECT_THAT(texts(found.at("can")), IsEmpty());
  EXPECT_THAT(texts(found.at("why_not_more")), Contains(HasSubstr("make cuda")));
}

// A trainer of another make that does not speak of GPUs, or one that could not be asked.
TEST(Doctor, AnAnswerWithoutGpusCountsAsACpuBuild) {
  const Json found = examine_gpus({{"plumbline-reference", Json::object()}, {"plumbline-pipeline", Json::object()}});

  EXPECT_THAT(texts(found.at("why_not_more")), Contains(HasSubstr("CPU build")));
}

TEST(Doctor, AMissingDriverIsToldInTheTrainersWords) {
  const Json found = examine_gpus(trainers({{"built", true}, {"usable", false}, {"why_not", "there is no driver"}}));

  EXPECT_THAT(texts(found.at("can")), IsEmpty());
  EXPECT_THAT(texts(found.at("why_not_more")), Contains("there is no driver"));
}

TEST(Doctor, OneGpuTakesAllStagesAndLacksASecondForNccl) {
  const Json found = examine_gpus(trainers(machine(Json::array({gpu("NVIDIA H200")}))));

  EXPECT_THAT(texts(found.at("can")), Contains(HasSubstr("train on one GPU")));
  EXPECT_THAT(texts(found.at("can")), ::testing::Not(Contains(HasSubstr("over NCCL"))));
  EXPECT_THAT(texts(found.at("why_not_more")), Contains(HasSubstr("has one GPU")));
  EXPECT_THAT(texts(found.at("why_not_more")), Contains(HasSubstr("refuses two ranks")));
}

TEST(Doctor, AnNcclThatSharesAGpuIsWorthSaying) {
  Json one = machine(Json::array({gpu("NVIDIA H200")}));
  one["why_not_two_ranks_on_one_gpu"] = nullptr;

  EXPECT_THAT(texts(examine_gpus(trainers(one)).at("can")), Contains(HasSubstr("two ranks on one GPU")));
}

TEST(Doctor, SeveralGpusTakeARankEachAndTheOddOneIsNamed) {
  const Json alike = examine_gpus(trainers(machine({gpu("NVIDIA H200"), gpu("NVIDIA H200"), gpu("NVIDIA H200")})));
  const Json mixed = examine_gpus(trainers(machine({gpu("NVIDIA H200"), gpu("NVIDIA H200"), gpu("NVIDIA T400")})));

  EXPECT_THAT(texts(alike.at("can")), Contains(HasSubstr("up to 3 ranks here")));
  EXPECT_THAT(texts(alike.at("why_not_more")), SizeIs(1));
  EXPECT_THAT(texts(mixed.at("why_not_more")), Contains(HasSubstr("GPUs 0 and 2 are of different models")));
}

/// What is on PATH, and nothing else.
Json examined_with(const std::vector<std::string>& programs) {
  const testing::TemporaryFolder folder;
  testing::program(folder, "plumbline-reference", "echo '{}'\n");
  testing::program(folder, "plumbline-pipeline", "echo '{}'\n");
  for (const auto& name : programs) testing::program(folder, "path/" + name, "");
  const std::string path = ::getenv("PATH");
  ::setenv("PATH", (folder / "path").c_str(), 1);
  const Json found = examine_machine(folder.path());
  ::setenv("PATH", path.c_str(), 1);
  return found;
}

TEST(Doctor, WithoutGnuplotNothingThatASweepNeedsIsMissing) {
  const Json found = examined_with({"mpirun"});

  EXPECT_THAT(texts(found.at("missing")), IsEmpty());
  EXPECT_THAT(texts(found.at("works_without")), Contains(HasSubstr("gnuplot")));
  EXPECT_THAT(texts(found.at("can")), Contains(HasSubstr("sweep over MPI processes")));
}

TEST(Doctor, WithoutMpirunASweepCannotBe) {
  EXPECT_THAT(texts(examined_with({"gnuplot"}).at("missing")), Contains(HasSubstr("mpirun")));
}

TEST(Doctor, EveryGpuIsOneResourceForCTest) {
  const Json two = {{"gpus", examine_gpus(trainers(machine({gpu("a"), gpu("a")})))}};
  const Json none = {{"gpus", examine_gpus(trainers({{"built", false}}))}};

  EXPECT_EQ(ctest_resources(two).dump(),
            R"({"version":{"major":1,"minor":0},"local":[{"gpus":[{"id":"0","slots":1},{"id":"1","slots":1}]}]})");
  EXPECT_EQ(ctest_resources(none).dump(), R"({"version":{"major":1,"minor":0},"local":[{"gpus":[]}]})");
}

}  // namespace
}  // namespace plumbline
