// SPDX-License-Identifier: BSD-3-Clause
// The recorder of other C++ trainers: calls, and what they write.
#include "record/external_record.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <map>
#include <optional>
#include <sstream>
#include <thread>

#include "record/digest.hpp"
#include "record/progress_page.hpp"
#include "record/record.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/json.hpp"
#include "support/text.hpp"
#include "tests/approved.hpp"
#include "tests/record/external_run.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Arguments = std::vector<std::string>;

/// {"steps": 2, "stages": [[0, ["a"]], [1, ["b"]]], ...}, keys of ExternalRun.
ExternalRun run_of(const Json& json) {
  ExternalRun run = external_run();
  const auto set = [&](const char* key, auto& field) {
    if (json.contains(key)) field = json[key].get<std::decay_t<decltype(field)>>();
  };
  if (json.contains("stages")) {
    run.stages.clear();
    for (const Json& stage : json["stages"])
      run.stages.push_back({stage[0].get<std::int64_t>(), stage[1].get<std::vector<std::string>>()});
  }
  if (json.contains("clip_norm")) run.clip_norm = json["clip_norm"].get<double>();
  set("model", run.model), set("optimizer", run.optimizer), set("steps", run.steps);
  set("microbatches", run.microbatches), set("schedule", run.schedule), set("dtype", run.dtype);
  set("device", run.device), set("accumulation", run.accumulation), set("loss_scaling", run.loss_scaling);
  set("norm_order", run.norm_order), set("clip_epsilon", run.clip_epsilon), set("tied", run.tied);
  set("frozen", run.frozen), set("seed", run.seed), set("data_source", run.data_source), set("tensors", run.tensors);
  return run;
}

/// The calls by name, with their arguments.
const std::map<std::string, void (*)(ExternalRecord&, const Arguments&)> calls = {
    {"initial_parameter",
     [](ExternalRecord& record, const Arguments& is) {
       record.initial_parameter(std::stoll(is.at(0)), is.at(1), external_tensor);
     }},
    {"begin_step", [](ExternalRecord& record, const Arguments& is) { record.begin_step(std::stod(is.at(0))); }},
    {"microbatch",
     [](ExternalRecord& record, const Arguments& is) {
       record.microbatch(
           {std::stoll(is.at(0)), std::stoll(is.at(1)), std::stoll(is.at(2)), is.size() > 3 ? is[3] : ""});
     }},
    {"loss",
     [](ExternalRecord& record, const Arguments& is) { record.loss(std::stoll(is.at(0)), std::stof(is.at(1))); }},
    {"sent", [](ExternalRecord& record,
                const Arguments& is) { record.sent(std::stoll(is.at(0)), std::stoll(is.at(1)), 0, external_tensor); }},
    {"received",
     [](ExternalRecord& record, const Arguments& is) {
       record.received(std::stoll(is.at(0)), std::stoll(is.at(1)), 0, external_tensor);
     }},
    {"handed_over",
     [](ExternalRecord& record, const Arguments& is) {
       record.handed_over(std::stoll(is.at(0)), std::stoll(is.at(1)), 0, external_tensor);
     }},
    {"computed", [](ExternalRecord& record,
                    const Arguments& is) { record.computed(is.at(0), is.at(1) == "backward", 0, external_tensor); }},
    {"action",
     [](ExternalRecord& record, const Arguments& is) {
       const auto microbatch = is.size() > 2 ? std::optional(std::stoll(is[2])) : std::nullopt;
       record.end_action(record.begin_action(std::stoll(is.at(0)), is.at(1), microbatch));
     }},
    {"end_action", [](ExternalRecord& record, const Arguments& is) { record.end_action(std::stoul(is.at(0))); }},
    {"gradient",
     [](ExternalRecord& record, const Arguments& is) {
       TensorView tensor = external_tensor;
       if (is.size() > 2) tensor = {is[2], parse_shape(is.at(3)).value(), is.size() > 4 ? nullptr : tensor.data};
       if (is.size() > 4 && is[4] == "negative") tensor.shape = {-1, -2}, tensor.data = external_values.data();
       record.gradient(std::stoll(is.at(0)), is.at(1), tensor);
     }},
    {"norm",
     [](ExternalRecord& record, const Arguments& is) { record.norm(std::stod(is.at(0)), std::stod(is.at(1))); }},
    {"after_step",
     [](ExternalRecord& record, const Arguments& is) {
       record.after_step(is.at(0), std::stoll(is.at(1)), is.at(2), external_tensor);
     }},
    {"end_step", [](ExternalRecord& record, const Arguments&) { record.end_step(); }},
    {"finish", [](ExternalRecord& record, const Arguments&) { record.finish(); }}};

/// A table without its times.
std::string text_of(const fs::path& file) {
  const CsvTable table = read_csv(file);
  if (table.rows.empty()) return "";
  std::string text = file.filename().string() + "\n";
  for (std::size_t row = 0; row <= table.rows.size(); ++row) {
    Arguments cells = row == 0 ? table.header : table.rows[row - 1].cells;
    for (std::size_t i = 0; row > 0 && i < cells.size(); ++i)
      if (table.header[i].ends_with("_ns") || table.header[i].ends_with("seconds")) cells[i] = "T";
    text += "  " + csv_line(cells);
  }
  return text;
}

/// Makes the calls, one on a line, after "run" with the keys of ExternalRun; "rank N" goes on with another rank.
/// Returns the refusals, the files, or with "manifest" only that, and why they cannot be read.
std::string made_by(const std::string& script) {
  const TemporaryFolder folder;
  ExternalRun run = external_run();
  std::map<std::int64_t, ExternalRecord> records;
  std::int64_t rank = 0;
  std::string text;
  std::istringstream lines(script);
  for (std::string line, name; std::getline(lines, line);) {
    std::istringstream words(line);
    words >> name;
    Arguments arguments;
    for (std::string word; words >> word;) arguments.push_back(word);
    try {
      if (name == "run") {
        run = run_of(Json::parse(line.substr(4)));
        continue;
      }
      if (name == "rank") rank = std::stoll(arguments.at(0));
      if (!records.contains(rank)) records.emplace(rank, ExternalRecord(folder / "record", run, rank));
      if (name != "rank" && name != "manifest") calls.at(name)(records.at(rank), arguments);
    } catch (const std::exception& error) {
      text += line + ": " + error.what() + "\n";
    }
  }
  records.clear();
  if (fs::exists(folder / "record/manifest.json") && script.find("manifest") != std::string::npos) {
    Json manifest = read_json(folder / "record/manifest.json");
    for (const char* key : {"run_id", "started", "versions", "machine", "environment", "command"}) manifest.erase(key);
    return text + manifest.dump();
  }
  for (std::int64_t each = 0; fs::exists(folder / fmt::format("record/rank-{}", each)); ++each) {
    const fs::path files = folder / fmt::format("record/rank-{}", each);
    const Json exit = read_json(files / "exit.json");
    text += fmt::format("rank {}: {}, data digest {}\n", each, exit.at("status").dump(), exit.at("data_digest").dump());
    for (const char* table : {"steps", "microbatches", "tensors", "boundaries", "actions"})
      if (fs::exists(files / (std::string(table) + ".csv"))) text += text_of(files / (std::string(table) + ".csv"));
  }
  try {
    if (fs::exists(folder / "record")) read_record(folder / "record");
  } catch (const InputError& error) {
    text += std::string("refused: ") + error.what() + "\n";
  }
  if (!text.empty()) text.pop_back();
  return in_folder(folder, text);
}

TEST(ExternalRecord, CallsWriteWhatIsApproved) {
  expect_answers("external-records.txt", made_by);
}

/// Returns after the clock of records has advanced.
void let_time_pass() {
  const auto begun = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begun < std::chrono::microseconds(1)) continue;
}

class ExternalTimes : public ::testing::Test {
 protected:
  RankRecord read() const { return read_record(path_).ranks.at(0); }

  TemporaryFolder folder_;
  fs::path path_ = folder_ / "record";
};

TEST_F(ExternalTimes, SecondsMeasureOnlyTheStep) {
  double outside = 0;
  const auto now = [] { return std::chrono::steady_clock::now(); };
  {
    ExternalRecord record(path_, external_run());
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // before the step, so not part of it
    const auto begun = now();
    record.begin_step(0.1);
    let_time_pass();
    complete_external_step(record);
    outside = std::chrono::duration<double>(now() - begun).count();
  }
  const double seconds = read().steps.at(0).seconds.value();

  EXPECT_GT(seconds, 0);
  EXPECT_LE(seconds, outside);
}

TEST_F(ExternalTimes, AMessageWaitsUntilItEnds) {
  {
    ExternalRecord record(path_, external_run());
    record.begin_step(0.1);
    for (const char* kind : {"RECV_F", "F"}) {
      const auto action = record.begin_action(0, kind, 0, std::string(kind) == "F" ? -1 : 0);
      let_time_pass();
      record.end_action(action);
    }
    complete_external_step(record);
  }
  const RankRecord rank = read();
  const ActionRow &receives = rank.actions.at(0), &computes = rank.actions.at(1);

  EXPECT_GT(receives.start_ns, 0);
  EXPECT_GT(receives.end_ns, receives.start_ns);
  EXPECT_EQ(receives.wait_ns, receives.end_ns - receives.start_ns);
  EXPECT_GE(computes.start_ns, receives.end_ns);
  EXPECT_GT(computes.end_ns, computes.start_ns);
  EXPECT_EQ(computes.wait_ns, 0);
}

TEST_F(ExternalTimes, TheStartIsWrittenBeforeTheFirstStepEnds) {
  ExternalRecord record(path_, external_run());
  record.initial_parameter(0, "weight", external_tensor);
  EXPECT_THAT(bytes_of(path_ / "rank-0/tensors.csv"), Not(HasSubstr("weight")));

  record.begin_step(0.1);

  EXPECT_THAT(bytes_of(path_ / "rank-0/tensors.csv"), HasSubstr("-1,parameter,weight,0,"));
}

TEST_F(ExternalTimes, HeartbeatFollowsTheRank) {
  ExternalRun run = external_run();
  run.steps = 2;
  ExternalRecord record(path_, run);
  const auto page = [&] { return read_progress(path_ / "rank-0/progress").value(); };
  record.begin_step(0.1);
  complete_external_step(record);
  EXPECT_EQ(page().step, 0);

  record.begin_step(0.1);
  EXPECT_EQ(page().step, 1);
  EXPECT_EQ(page().action, "");
  const auto action = record.begin_action(0, "RECV_F", 3, 2);
  EXPECT_EQ(page().step, 1);
  EXPECT_EQ(page().action, "0RECV_F3");
  EXPECT_EQ(page().action_index, 0);
  EXPECT_EQ(page().peer, 2);
  EXPECT_EQ(page().microbatch, 3);
  record.end_action(action);
  EXPECT_EQ(page().action, "0RECV_F3");
  EXPECT_EQ(page().peer, -1) << "it no longer waits";
}

TEST(ExternalRecord, OnlyTheNewOwnerOfAMovedRecordEndsIt) {
  const TemporaryFolder folder;
  std::optional<ExternalRecord> first(std::in_place, folder / "record", external_run());
  ExternalRecord second = std::move(*first);
  first.reset();
  EXPECT_FALSE(fs::exists(folder / "record/rank-0/exit.json"));

  second.begin_step(0.1);
  complete_external_step(second);
}

TEST(ExternalMicrobatch, DigestCoversIdsAndLabelsInTheBatchsShape) {
  const std::array<std::int64_t, 4> ids{1, 2, 3, 4}, labels{2, -1, -100, -101};
  const std::array<std::int64_t, 8> both{1, 2, 3, 4, 2, -1, -100, -101};

  const auto fed = microbatch_of_tokens(2, 2, ids.data(), labels.data());

  EXPECT_EQ(fed.digest, tensor_digest("int64", {2, 2, 2}, std::as_bytes(std::span(both))));
  EXPECT_EQ(fed.batch, 2);
  EXPECT_EQ(fed.sequence_length, 2);
  EXPECT_EQ(fed.valid_tokens, 3) << "only -100 is ignored, not another trainer's value";
}

TEST(ExternalMicrobatch, DigestOfRowsCoversAllDataAndIsAbsentWithoutData) {
  const std::array<float, 2> others{3, 4};
  const TensorView other{"float32", {1, 2}, others.data()};
  const std::string one = tensor_digest("float32", {1, 2}, std::as_bytes(std::span(external_values)));
  const std::string two = tensor_digest("float32", {1, 2}, std::as_bytes(std::span(others)));

  EXPECT_EQ(microbatch_of_rows(1, {external_tensor, other}).digest, hash_hex(one + two));
  EXPECT_EQ(microbatch_of_rows(4, {}).digest, "");
  EXPECT_EQ(microbatch_of_rows(4, {}).valid_tokens, 4);
}

}  // namespace
}  // namespace plumbline::testing
