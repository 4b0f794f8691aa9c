// SPDX-License-Identifier: BSD-3-Clause
#include "reports/report.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <algorithm>
#include <tuple>

#include "record/writer.hpp"
#include "reports/evidence.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/json.hpp"
#include "tests/paths.hpp"
#include "tests/record/sample.hpp"
#include "tests/reports/sample_sweep.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;
using testing::bytes_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

constexpr std::int64_t steps = 2;
constexpr std::int32_t microbatches = 4;
const std::vector<std::string> units{"embed_tokens", "layers.0", "layers.1", "norm", "lm_head"};

/// Two stages: stage 0 has the embedding and layers.0, stage 1 the rest. One stage has all.
std::vector<std::vector<std::string>> stages_of(std::int64_t world) {
  if (world == 1) return {units};
  return {{units[0], units[1]}, {units[2], units[3], units[4]}};
}

Json manifest_of(std::int64_t world, const std::string& role, const std::string& schedule, const std::string& csv) {
  Json stages = Json::array();
  for (std::int64_t stage = 0; stage < world; ++stage) {
    stages.push_back({{"stage", stage}, {"rank", stage}, {"units", stages_of(world)[static_cast<std::size_t>(stage)]}});
  }
  Json json = testing::sample_manifest();
  json["role"] = role;
  json["model"]["num_hidden_layers"] = 2;
  json["world_size"] = world;
  json["steps"] = steps;
  json["data"] = {{"source", "made up"}, {"microbatches", microbatches}};
  json["schedule"]["name"] = schedule;
  json["schedule"]["microbatches"] = microbatches;
  json["schedule"]["digest"] = hash_hex(csv);
  json["stages"] = stages;
  json["tied"] = Json::array();
  json["level"] = "summary";
  return json;
}

/// A record of level `summary`, as a trainer writes it: every unit keeps 100 bytes for each microbatch in flight. The
/// record of two ranks is an external one, which may leave memory columns empty.
void write_record(const fs::path& folder, std::int64_t world, const std::string& schedule,
                  std::int64_t action_ns = 1000) {
  const bool reference = schedule == "sequential";
  const Schedule list =
      reference ? Schedule() : make_schedule(schedule, static_cast<std::int32_t>(world), microbatches);
  const std::string csv = reference ? "0F0,0B0\n" : to_csv(list);
  const std::vector<ActionList> actions =
      reference ? std::vector<ActionList>{{*parse_action("0F0"), *parse_action("0B0")}} : list.ranks;
  claim_record_folder(folder);
  write_manifest(folder, manifest_of(world,
                                     reference    ? "reference"
                                     : world == 1 ? "pipeline"
                                                  : "external",
                                     schedule, csv));
  write_file(folder / "schedule.csv", csv);
  for (std::int64_t rank = 0; rank < world; ++rank) {
    RecordWriter writer(folder, rank, RecordLevel::summary, reference);
    for (std::int64_t step = 0; step < steps; ++step) {
      for (std::int64_t microbatch = 0; microbatch < microbatches; ++microbatch) {
        writer.add(MicrobatchRow{step, microbatch, 1, 1, 1, 1, {}, ""});
        if (!reference || step > 0) continue;
        for (const auto& unit : units) writer.add(SavedRow{microbatch, unit, 100, 100, 100, {}, {}, {}});
      }
      const ActionList& own = actions[static_cast<std::size_t>(rank)];
      for (std::size_t i = 0; i < own.size(); ++i) {
        const auto index = static_cast<std::int64_t>(i), start = action_ns * index * (step + 1);
        writer.add(
            ActionRow{step, index, to_text(own[i]), own[i].stage, own[i].microbatch, start, start + action_ns, 0, 100});
      }
      MemoryRow memory;
      memory.step = step;
      memory.activation_peak_bytes = 401 - step;
      memory.parameter_bytes = memory.peak_bytes = 1000;
      memory.gradient_bytes = 900;
      memory.buffer_bytes = memory.process_peak_bytes = 10;
      memory.live_bytes = 0;
      if (world == 1) memory.optimizer_bytes = 2000;
      writer.add(memory);
      if (world > 1) writer.add(TrafficRow{step, 1 - rank, "forward", "send", 1, 32});
      StepRow row{step, {}, 0.5, 0.5, 0.5, microbatches, microbatches, 1, 0.5, 0.125};
      if (rank == world - 1) row.loss = 3.0F - static_cast<float>(step);
      writer.end_step(row);
    }
    writer.finish({rank, "ok", 0, std::nullopt, ""});
  }
}

/// A sweep of one reference and two cells on disk.
class Report : public ::testing::Test {
 protected:
  Report() {
    verdict = testing::sample_verdict(2);
    verdict.cells.resize(2);
    for (auto& each : verdict.cells) each.reference = "alone";
    verdict.cells[1].checks[0].predicted_peak_bytes = {400, 300};
    write_verdict(folder / "verdict.json", verdict);
    write_record(folder / "references" / "alone", 1, "sequential");
    write_record(cell(0), 1, "afab");
    write_record(cell(1), 2, "1f1b");
  }
  fs::path cell(std::size_t index) const { return folder / "cells" / verdict.cells[index].id; }
  std::string page() const { return bytes_of(folder / "report.html"); }
  /// The reference that the case on two ranks gets after this change of its manifest; empty if none.
  std::string reference_with(const std::string& pointer, const Json& value) {
    const fs::path file = cell(1) / "manifest.json";
    const std::string before = bytes_of(file);
    Json manifest = Json::parse(before);
    manifest[Json::json_pointer(pointer)] = value;
    write_json(file, manifest);
    const Evidence evidence = gather_evidence(folder.path(), verdict);
    write_file(file, before);
    EXPECT_EQ(evidence.reference_of.count(verdict.cells[0].id), 1U);
    const auto found = evidence.reference_of.find(verdict.cells[1].id);
    return found == evidence.reference_of.end() ? "" : found->second;
  }
  void launch_left(const std::string& launch, const std::string& file, const std::string& text) const {
    make_folder(folder / "launches" / launch);
    write_file(folder / "launches" / launch / file, text);
  }

  TemporaryFolder folder;
  Verdict verdict;
};

TEST_F(Report, WritesTheThreeFilesAndTheSameBytesAgain) {
  write_reports(folder.path());
  const std::string page_before = page(), junit = bytes_of(folder / "junit.xml"),
                    table = bytes_of(folder / "results.csv");
  write_reports(folder.path());

  EXPECT_THAT(page_before, HasSubstr("Loss: all 4 values equal the reference"));
  EXPECT_THAT(junit, HasSubstr("<testsuites name=\"default\""));
  EXPECT_THAT(table, ::testing::StartsWith("case,run,model,"));
  EXPECT_EQ(page(), page_before);
  EXPECT_EQ(bytes_of(folder / "junit.xml"), junit);
  EXPECT_EQ(bytes_of(folder / "results.csv"), table);
}

TEST_F(Report, NeedsAVerdict) {
  fs::remove(folder / "verdict.json");

  const std::string message = testing::error_of<InputError>([&] { write_reports(folder.path()); });

  EXPECT_THAT(message, HasSubstr("verdict.json"));
  EXPECT_FALSE(fs::exists(folder / "report.html"));
}

TEST_F(Report, NamesABrokenRecordAndDrawsTheRest) {
  fs::remove_all(cell(0));
  write_file(cell(1) / "rank-1" / "steps.csv", "step,loss\n0");

  write_reports(folder.path());

  EXPECT_THAT(page(), HasSubstr("Records that could not be read"));
  EXPECT_THAT(page(), HasSubstr("<li>cells/" + verdict.cells[0].id));
  EXPECT_THAT(page(), HasSubstr("rank-1/steps.csv"));
  EXPECT_THAT(page(), Not(HasSubstr(folder.path().string()))) << "the page does not depend on its folder";
  EXPECT_THAT(page(), HasSubstr("Loss, gradients, memory"));
}

TEST_F(Report, EvidenceHasEachRanksLargestStepAndPrediction) {
  const Evidence evidence = gather_evidence(folder.path(), verdict);

  ASSERT_THAT(evidence.missing, ElementsAre());
  EXPECT_EQ(evidence.reference_of.at(verdict.cells[1].id), "alone");
  const RunSummary& run = evidence.cells.at(verdict.cells[1].id);
  EXPECT_EQ(run.losses, (std::map<std::int64_t, float>{{0, 3.0F}, {1, 2.0F}}));
  ASSERT_EQ(run.ranks.size(), 2u);
  EXPECT_THAT(run.ranks[1].units, ElementsAre("layers.1", "norm", "lm_head"));
  EXPECT_EQ(run.ranks[0].activation_bytes, 401) << "the larger of 401 and 400";
  EXPECT_EQ(run.ranks[0].predicted_bytes, 400);
  EXPECT_EQ(run.ranks[1].predicted_bytes, 300);
  EXPECT_EQ(run.ranks[0].parameter_bytes, 1000);
  EXPECT_EQ(run.ranks[0].gradient_bytes, 900);
  EXPECT_EQ(run.ranks[0].optimizer_bytes, std::nullopt) << "an empty column is not zero";
}

TEST_F(Report, TimesTheSlowestCaseOfSeveralRanks) {
  const std::optional<SlowestCase> slowest = gather_evidence(folder.path(), verdict).slowest;
  const MeasuredTimeline whole = measure_timeline(read_record(cell(1)));
  ASSERT_TRUE(slowest);
  EXPECT_EQ(slowest->id, verdict.cells[1].id) << "the other case has one rank";
  EXPECT_EQ(slowest->timeline.step, whole.step);
  EXPECT_EQ(slowest->timeline.median_makespan, whole.median_makespan);
  EXPECT_EQ(slowest->timeline.planned.makespan, whole.planned.makespan);

  write_record(folder / "cells" / "slower", 2, "1f1b", 5000);
  for (const std::size_t place : {0u, 2u}) {
    Verdict of_three = verdict;
    CellVerdict slower = verdict.cells[1];
    slower.id = "slower";
    of_three.cells.insert(of_three.cells.begin() + static_cast<std::ptrdiff_t>(place), slower);
    EXPECT_EQ(gather_evidence(folder.path(), of_three).slowest.value().id, "slower");
  }

  const fs::path actions = cell(1) / "rank-1" / "actions.csv";
  std::string text = bytes_of(actions);
  text.replace(text.rfind("1B"), 2, "0B");
  write_file(actions, text);
  EXPECT_FALSE(gather_evidence(folder.path(), verdict).slowest) << "its actions are not the schedule's";
}

TEST_F(Report, RatiosReadByStepMatchThoseOfWholeRecords) {
  const fs::path kept = fs::path(testing::fixtures_path()) / ".." / "examples" / "kept";
  for (const auto& [from, to] : {std::pair{"one", folder / "references/alone"}, {"wrong", cell(1)}}) {
    fs::remove_all(to);
    fs::copy(kept / from, to, fs::copy_options::recursive);
  }
  GradientRatios whole;
  whole.add(read_record(kept / "one"), read_record(kept / "wrong"));
  ASSERT_GT(whole.compared, 0);
  ASSERT_FALSE(whole.all_one());

  const GradientRatios streamed = gather_evidence(folder.path(), verdict).cells.at(verdict.cells[1].id).ratios;

  EXPECT_EQ(streamed.compared, whole.compared);
  EXPECT_TRUE(std::ranges::equal(streamed.parameters, whole.parameters, [](const auto& one, const auto& other) {
    return std::tie(one.parameter, one.low, one.high) == std::tie(other.parameter, other.low, other.high);
  }));
}

TEST_F(Report, FindsTheReferenceByNameOrByEqualTraining) {
  EXPECT_EQ(reference_with("/model/hidden_size", 16), "");
  EXPECT_EQ(reference_with("/seed", 2), "");
  EXPECT_EQ(reference_with("/dtype", "bfloat16"), "alone") << "a resumed run may have other data, too";
  fs::copy(folder / "references/alone", folder / "references/a-copy", fs::copy_options::recursive);
  EXPECT_EQ(reference_with("/seed", 1), "alone");

  fs::remove_all(folder / "references/a-copy");
  for (auto& each : verdict.cells) each.reference.clear();
  EXPECT_EQ(reference_with("/seed", 1), "alone");
  EXPECT_EQ(reference_with("/dtype", "bfloat16"), "");
}

TEST_F(Report, NamesAReferenceThatCannotBeRead) {
  write_file(folder / "references/alone/manifest.json", "{");

  EXPECT_THAT(gather_evidence(folder.path(), verdict).missing, ElementsAre(HasSubstr("references/alone: ")));
}

TEST_F(Report, ShowsEnvironmentDifferencesOfAFailedCase) {
  for (const auto& [record, threads] : {std::pair{folder / "references/alone", "1"}, {cell(1), "7"}}) {
    Json manifest = read_json(record / "manifest.json");
    manifest["environment"] = {{"OMP_NUM_THREADS", threads}};
    write_json(record / "manifest.json", manifest);
  }
  const auto differing = [&] {
    return gather_evidence(folder.path(), verdict).cells.at(verdict.cells[1].id).environment.size();
  };

  EXPECT_EQ(differing(), 0U) << "it holds";
  verdict.cells[1].holds = false;
  EXPECT_GT(differing(), 0U);
}

TEST_F(Report, JUnitHasTheEndOfStandardError) {
  launch_left(verdict.cells[1].id, "stderr.txt", std::string(9000, 'x') + "\nlast words\n");

  write_reports(folder.path());

  const std::string junit = bytes_of(folder / "junit.xml");
  EXPECT_THAT(junit, HasSubstr("<system-out>...&#10;last words&#10;</system-out>"));
  EXPECT_THAT(junit, Not(HasSubstr("xxx")));
}

TEST_F(Report, ARecordMayBeInASubfolder) {
  fs::rename(cell(0), folder / "moved");
  fs::create_directories(cell(0));
  fs::rename(folder / "moved", cell(0) / "record");

  const Evidence evidence = gather_evidence(folder.path(), verdict);

  EXPECT_THAT(evidence.missing, ElementsAre());
  EXPECT_TRUE(evidence.cells.contains(verdict.cells[0].id));
}

TEST_F(Report, TracesTheFailedCaseOrTheOneWithTheMostRanks) {
  const auto traced = [&] {
    write_verdict(folder / "verdict.json", verdict);
    write_reports(folder.path());
    return read_json(folder / "trace.json").at("otherData").at("cell").get<std::string>();
  };

  EXPECT_EQ(traced(), verdict.cells[1].id) << "it has two ranks";
  verdict.holds = verdict.cells[0].holds = false;
  EXPECT_EQ(traced(), verdict.cells[0].id);
}

TEST_F(Report, RemovesTheTraceOfRemovedRecords) {
  write_reports(folder.path());
  ASSERT_TRUE(fs::exists(folder / "trace.json"));
  for (std::size_t i = 0; i < 2; ++i) fs::remove_all(cell(i));

  write_reports(folder.path());

  EXPECT_FALSE(fs::exists(folder / "trace.json"));
}

TEST_F(Report, JUnitHasTheReferencesOutputAndThePageTheCommands) {
  verdict.cells[0].holds = verdict.holds = false;
  write_verdict(folder / "verdict.json", verdict);
  launch_left("reference-" + verdict.references[0].id, "stderr.txt", "out of memory\n");
  launch_left(verdict.cells[0].id, "command.txt", "mpirun -n 1 x\nin /a/folder\n");

  write_reports(folder.path());

  EXPECT_THAT(bytes_of(folder / "junit.xml"), HasSubstr("<system-out>out of memory&#10;</system-out>"));
  EXPECT_THAT(page(), HasSubstr("<pre>mpirun -n 1 x</pre>"));
}

}  // namespace
}  // namespace plumbline
