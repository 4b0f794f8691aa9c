// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <map>

#include "harness/commands/commands.hpp"
#include "record/rank_folder.hpp"
#include "schedule/schedule.hpp"
#include "tests/harness/commands/finished_sweep.hpp"
#include "tests/paths.hpp"
#include "tests/record/sample.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

class ScheduleCommand : public ::testing::Test {
 protected:
  Result run(const std::string& line) { return command_result(add_schedule_command, "schedule " + line); }
  std::string file(const std::string& text) const { return folder_.file("mine.csv", text).string(); }

  TemporaryFolder folder_;
  std::string torch_ = (fs::path(fixtures_path()) / "schedules").string();
};

TEST_F(ScheduleCommand, SimulatesThePublishedRate) {
  const Result result = run(
      "simulate --schedule zb-h1 --ranks 8 --microbatches 24 --times 18.522,18.086,9.337 --communication 0.601 --json");

  ASSERT_EQ(result.code, 0) << result.said;
  const Json json = Json::parse(result.said);
  EXPECT_EQ(std::round(json.at("bubble_rate").get<double>() * 1e4), 1585);
  EXPECT_EQ(json.at("peak_slots"), Json(std::vector<int>(8, 8)));
  EXPECT_GT(json.at("makespan").get<double>(), 24 * (18.522 + 18.086 + 9.337));
}

TEST_F(ScheduleCommand, SimulatesFilesAndTimesOfEachStage) {
  const std::string schedule = file("0F0,0B0\n1F0,1B0\n");
  write_file(folder_ / "times.csv", "1,1,1\n2,2,2\n");

  const Result result =
      run("simulate --schedule " + schedule + " --times " + (folder_ / "times.csv").string() + " --json");

  EXPECT_EQ(Json::parse(result.said).at("makespan"), 9);
  write_file(folder_ / "times.csv", "1,1,1,10\n2,2,2\n");
  EXPECT_EQ(
      Json::parse(
          run("simulate --schedule " + schedule + " --times " + (folder_ / "times.csv").string() + " --json").said)
          .at("makespan"),
      17)
      << "a full backward's own time";
}

TEST_F(ScheduleCommand, SimulatesMessagesWithoutOverlap) {
  const std::string afab = "simulate --schedule afab --times 2,2,2 --communication 1 --json ";

  EXPECT_EQ(Json::parse(run(afab).said).at("makespan"), 72);
  EXPECT_EQ(Json::parse(run(afab + "--no-overlap").said).at("makespan"), 86)
      << "each backward pass but the first waits";
  EXPECT_EQ(Json::parse(run(afab + "--no-overlap --ranks 1").said).at("makespan"), 48);
}

TEST_F(ScheduleCommand, ChecksGoodBadAndUnreadable) {
  EXPECT_EQ(run("check " + torch_ + "/zbv-p4-m8.csv --placement v --transport nccl").code, 0);
  const Result wrong_placement = run("check " + torch_ + "/zbv-p4-m8.csv --placement loop");
  EXPECT_EQ(wrong_placement.code, 1);
  EXPECT_THAT(wrong_placement.said, HasSubstr("is on rank"));
  EXPECT_EQ(run("check " + file("0F0,0B0,0W0\n")).code, 1);  // of older torch, where B is the input gradient
  EXPECT_EQ(run("check " + file("0F0,0B0junk\n")).code, 2);
  EXPECT_EQ(run("check " + folder_.path().string() + "/none.csv").code, 2);
  EXPECT_EQ(run("check " + file("0F0,0B0\n") + " --transport pigeons").code, 2);
  EXPECT_EQ(run("check").code, 2);
}

TEST_F(ScheduleCommand, CheckPrintsFindingsAsJson) {
  const Result result = run("check " + file("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n") + " --json");

  EXPECT_EQ(result.code, 1);
  const Json json = Json::parse(result.said);
  EXPECT_EQ(json.at("holds"), false);
  EXPECT_EQ(json.at("findings").at(0).at("rule"), "deadlock");
  EXPECT_EQ(json.at("findings").at(0).at("action"), "0B0");
  EXPECT_THAT(json.at("findings").at(0).at("text").get<std::string>(), HasSubstr("in a cycle"));
}

TEST_F(ScheduleCommand, ConvertsThereAndBack) {
  const std::string theirs = (folder_ / "theirs.csv").string();
  EXPECT_EQ(run("convert --schedule zb-h1 --ranks 2 --microbatches 2 --to torch --out " + theirs).code, 0);
  EXPECT_THAT(read_file(theirs), HasSubstr("0F0,0F1,0I0,0W0"));
  EXPECT_EQ(run("convert --schedule " + theirs + " --to plumbline").said, read_file(theirs));
  const std::string lowered =
      file(run("convert --schedule 1f1b --ranks 2 --microbatches 2 --lowered --to plumbline").said);
  EXPECT_EQ(run("convert --schedule " + lowered + " --lowered --to plumbline").said, read_file(lowered))
      << "what has messages gets no more of them";
  EXPECT_THAT(run("convert --schedule 1f1b --ranks 2 --microbatches 1 --lowered --tied --to plumbline").said,
              HasSubstr("0SEND_F0,0RECV_B0,0B0,0REDUCE,0STEP"));
}

TEST_F(ScheduleCommand, ShowsTextAndSvg) {
  EXPECT_THAT(run("show --schedule 1f1b --ranks 2 --microbatches 2 --columns 18").said, HasSubstr("rank 1  ..F0B0--"));
  const std::string svg = (folder_ / "drawing.svg").string();
  EXPECT_EQ(run("show --schedule dualpipe-v --ranks 2 --microbatches 4 --out " + svg).code, 0);
  EXPECT_THAT(read_file(svg), StartsWith("<svg xmlns"));
}

TEST_F(ScheduleCommand, ShowsARecordAsMeasuredAndAsPlanned) {
  const fs::path record = folder_ / "record";
  write_sample(record);
  for (int rank = 0; rank < 3; ++rank) {  // whole lists: F 1 ms long, B 2 ms, in turn down the stages and back up
    std::string rows = "step,index,action,stage,microbatch,start_ns,end_ns,wait_ns,peak_bytes\n";
    for (int step = 0; step < 2; ++step) {
      const auto row = [&](int index, const char* type, int start_ms, int end_ms) {
        const std::string stage = std::to_string(rank);
        rows += std::to_string(step) + "," + std::to_string(index) + "," + stage + type + "0," + stage + ",0," +
                std::to_string(start_ms) + "000000," + std::to_string(end_ms) + "000000,0,0\n";
      };
      row(0, "F", rank, rank + 1);
      row(1, "B", 11 - 2 * rank, 13 - 2 * rank);  // 2 ms late at every stage but the last
    }
    overwrite(record / rank_folder(rank) / "actions.csv", rows);
  }

  const Result result = run("show --record " + record.string() + " --step 1 --columns 26");

  EXPECT_EQ(result.code, 0) << result.said;
  EXPECT_THAT(result.said, StartsWith("measured, step 1\nrank 0  F0....................B0--\n"));
  EXPECT_THAT(result.said, HasSubstr("planned\nrank 0  F0............B0--........\n"));
  EXPECT_EQ(run("show --record " + record.string() + " --step 2").code, 2);
  EXPECT_EQ(run("show --record " + (folder_ / "none").string()).code, 2);
}

TEST_F(ScheduleCommand, ListsAllAsJson) {
  const Json json = Json::parse(run("list --json").said);

  std::map<std::string, std::string> placements;
  std::vector<std::string> names;
  for (const Json& each : json) {
    names.push_back(each.at("name"));
    placements[names.back()] = each.at("placement");
  }
  EXPECT_EQ(names, schedule_names());
  EXPECT_EQ(placements["1f1b"], "loop");
  EXPECT_EQ(placements["zb-v"], "v");
}

TEST_F(ScheduleCommand, AClosedFormIsPrintedForEqualStagesWithoutCommunication) {
  const std::string zb = "simulate --json --schedule zb-h1 --ranks 2 --microbatches 4 ";
  write_file(folder_ / "times.csv", "1,1,1\n2,2,2\n");
  EXPECT_TRUE(Json::parse(run(zb).said).at("closed_form_bubble").is_number());
  EXPECT_TRUE(Json::parse(run(zb + "--communication 0.5").said).at("closed_form_bubble").is_null());
  EXPECT_TRUE(
      Json::parse(run(zb + "--times " + (folder_ / "times.csv").string()).said).at("closed_form_bubble").is_null());
  EXPECT_TRUE(Json::parse(run("simulate --json --schedule " + file("0F0,0B0\n1F0,1B0\n")).said)
                  .at("closed_form_bubble")
                  .is_null());
}

TEST_F(ScheduleCommand, OwnMessagesMayHoldOverMpiAndNotOverNccl) {
  const std::string mine = file(
      "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n");
  const Result over_nccl = run("check " + mine + " --transport nccl");
  EXPECT_EQ(over_nccl.code, 1);
  EXPECT_THAT(over_nccl.said, HasSubstr("may wait forever over NCCL"));
  const Result over_mpi = run("check " + mine);
  EXPECT_EQ(over_mpi.code, 0) << over_mpi.said;
  EXPECT_THAT(over_mpi.said, HasSubstr("over mpi"));
}

TEST_F(ScheduleCommand, CheckSaysWhetherGradientsAreSummedInAscendingOrder) {
  const std::string told = "note: gradients are not summed in ascending microbatch order";
  const std::string other = "check " + file("0F0,0F1,0B1,0B0\n");
  EXPECT_EQ(Json::parse(run(other + " --json").said).at("ascending_accumulation"), false);
  EXPECT_THAT(run(other).said, HasSubstr(told));
  const std::string ascending = "check " + file("0F0,0F1,0B0,0B1\n");
  EXPECT_EQ(Json::parse(run(ascending + " --json").said).at("ascending_accumulation"), true);
  EXPECT_THAT(run(ascending).said, Not(HasSubstr(told)));
}

TEST_F(ScheduleCommand, BadSizesAndTimesAreInputErrors) {
  EXPECT_THAT(run("simulate --schedule dualpipe-v --ranks 4 --microbatches 4").said,
              HasSubstr("at least 2 microbatches"));
  EXPECT_EQ(run("simulate --schedule 1f1b --ranks 0").code, 2);
  EXPECT_EQ(run("simulate --schedule 1f1b --microbatches 0").code, 2);
  EXPECT_EQ(run("simulate --schedule 1f1b --times 1,2").code, 2);
  EXPECT_EQ(run("simulate --schedule 1f1b --times 1,2,nan").code, 2);
  EXPECT_EQ(run("simulate --schedule 1f1b --times 1,2,inf").code, 2);
  EXPECT_EQ(run("simulate --schedule 1f1b --times 1,2,1e13").code, 2);
  EXPECT_THAT(run("simulate --schedule 1f1b --times 1,2,3,4,5").said, HasSubstr("5 times; give T_F,T_B,T_W"));
  EXPECT_THAT(run("simulate --schedule 1f1b --communication -1").said,
              HasSubstr("--communication -1: is not a duration"));
  EXPECT_EQ(run("simulate --schedule 1f1b --communication 1e13").code, 2);
  EXPECT_EQ(run("simulate --schedule 1f2b").code, 2);
  EXPECT_EQ(run("").code, 2);
}

}  // namespace
}  // namespace plumbline::testing
