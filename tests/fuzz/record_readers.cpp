// A run record: manifest, exit file, each table, schedule; and what a rank shows while it runs.
#include "record/bench_result.hpp"
#include "record/exit_file.hpp"
#include "record/launch_finding.hpp"
#include "record/progress_page.hpp"
#include "record/record.hpp"
#include "record/verdict.hpp"
#include "tests/fuzz/reader.hpp"

namespace plumbline::fuzzing {
namespace {

namespace fs = std::filesystem;

// Small ones, of one step; every table stands in one of them.
const std::string pipeline = "tests/fuzz/seeds/record", reference = "tests/fuzz/seeds/reference";

void read_whole(const fs::path& record, const fs::path&) {
  static_cast<void>(read_record(record));
}

/// In a right record that has the table.
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
    Registration({"progress", "progress", [](const fs::path&, const fs::path& file) { read_progress(file); }}),
    Registration(
        {"launch-finding", "finding.json", [](const fs::path&, const fs::path& file) { read_launch_finding(file); }}),
    Registration({"verdict", "verdict.json", [](const fs::path&, const fs::path& file) { read_verdict(file); }}),
    Registration({"bench", "bench.json", [](const fs::path&, const fs::path& file) { read_bench_result(file); }}),
};

}  // namespace
}  // namespace plumbline::fuzzing
