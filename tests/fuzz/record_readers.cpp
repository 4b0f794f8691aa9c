// SPDX-License-Identifier: BSD-3-Clause
// A run record: manifest, exit file, each table, schedule; and the heartbeat of a running rank.
#include "harness/judge/judge.hpp"
#include "record/exit_file.hpp"
#include "record/launch_finding.hpp"
#include "record/progress_page.hpp"
#include "record/record.hpp"
#include "record/verdict.hpp"
#include "tests/fuzz/reader.hpp"
#include "tests/paths.hpp"

namespace plumbline::fuzzing {
namespace {

namespace fs = std::filesystem;

// Small records of one step; every table is in one of them.
const std::string pipeline = "tests/fuzz/seeds/record", reference = "tests/fuzz/seeds/reference";

void read_whole(const fs::path& record, const fs::path&) {
  static_cast<void>(read_record(record));
}

/// If a reader accepts the record, the judge must not fail either.
void judge_whole(const fs::path& record, const fs::path&) {
  CellPlan plan;
  plan.id = "fuzzed";
  plan.world = 2;
  plan.schedule = "1f1b";
  plan.optimizer = "sgd";
  static_cast<void>(judge_cell(plan, fs::path(testing::source_path()) / reference, record));
}

/// Reads the file in a valid record.
Reader judged(const std::string& name, const std::string& file) {
  return {"judge-" + name, file, judge_whole, pipeline};
}

Reader table(const std::string& name, const std::string& rank = "rank-0", const std::string& record = pipeline) {
  return {"table-" + name, rank + "/" + name + ".csv", read_whole, record};
}

const Registration all[] = {
    Registration({"manifest", "manifest.json", [](const fs::path& record, const fs::path&) { read_manifest(record); },
                  pipeline}),
    Registration({"manifest-and-tables", "manifest.json", read_whole, pipeline}),
    Registration({"exit", "rank-0/exit.json", read_whole, pipeline}),
    Registration(table("steps")),
    Registration(table("microbatches")),
    Registration(table("tensors")),
    Registration(table("boundaries")),
    Registration(table("actions")),
    Registration(table("memory")),
    Registration(table("traffic")),
    Registration(table("saved", "rank-0", reference)),
    Registration(table("gpu_memory")),
    Registration(table("evaluation", "rank-1")),
    Registration(judged("manifest", "manifest.json")),
    Registration(judged("steps", "rank-1/steps.csv")),
    Registration(judged("microbatches", "rank-1/microbatches.csv")),
    Registration(judged("tensors", "rank-0/tensors.csv")),
    Registration(judged("boundaries", "rank-0/boundaries.csv")),
    Registration(judged("actions", "rank-0/actions.csv")),
    Registration(judged("memory", "rank-0/memory.csv")),
    Registration(judged("traffic", "rank-0/traffic.csv")),
    Registration(judged("evaluation", "rank-1/evaluation.csv")),
    Registration(judged("schedule", "schedule.csv")),
    Registration({"progress", "progress", [](const fs::path&, const fs::path& file) { read_progress(file); }}),
    Registration(
        {"launch-finding", "finding.json", [](const fs::path&, const fs::path& file) { read_launch_finding(file); }}),
    Registration({"verdict", "verdict.json", [](const fs::path&, const fs::path& file) { read_verdict(file); }}),
};

}  // namespace
}  // namespace plumbline::fuzzing
