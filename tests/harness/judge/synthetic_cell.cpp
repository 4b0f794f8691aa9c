// SPDX-License-Identifier: BSD-3-Clause
// Two synthetic runs as records, and their verdict.
#include <algorithm>
#include <sstream>

#include "record/columns.hpp"
#include "support/csv.hpp"
#include "support/files.hpp"
#include "tests/harness/judge/synthetic_run.hpp"

namespace plumbline::testing {
namespace {

template <class Rows>
void add_rows(RecordWriter& writer, const Rows& rows, std::int64_t step) {
  for (const auto& row : rows) {
    if (row.step == step) writer.add(row);
  }
}

/// Adds the column `updated`, which our trainers' writer lacks.
void add_updated(const std::vector<StepRow>& rows, const std::filesystem::path& file) {
  if (std::ranges::none_of(rows, [](const StepRow& row) { return row.updated.has_value(); })) return;
  std::istringstream lines(read_file(file));
  std::string text, line;
  std::getline(lines, line);
  text = line + ",updated\n";
  for (const StepRow& row : rows) {
    std::getline(lines, line);
    text += line + "," + (row.updated ? *row.updated ? "true" : "false" : "") + "\n";
  }
  write_file(file, text);
}

}  // namespace

void write_run(const SyntheticRun& run, const std::filesystem::path& folder) {
  claim_record_folder(folder);
  write_manifest(folder, run.manifest);
  if (!run.schedule_csv.empty()) write_schedule_csv(folder, run.schedule_csv);
  for (const auto& rank : run.ranks) {
    RecordWriter writer(folder, rank.rank, parse_record_level(run.manifest.at("level").get<std::string>()),
                        !rank.saved.empty());
    add_rows(writer, rank.tensors, -1);
    writer.flush();
    for (const auto& row : rank.saved) writer.add(row);
    for (const auto& step : rank.steps) {
      add_rows(writer, rank.microbatches, step.step);
      add_rows(writer, rank.tensors, step.step);
      add_rows(writer, rank.boundaries, step.step);
      add_rows(writer, rank.actions, step.step);
      add_rows(writer, rank.memory, step.step);
      add_rows(writer, rank.traffic, step.step);
      writer.end_step(step);
      add_rows(writer, rank.evaluation, step.step);
    }
    if (!rank.gpu_memory.empty()) {
      CsvWriter file(writer.folder() / table_of<GpuMemoryRow>().file, header_of<GpuMemoryRow>());
      for (const auto& row : rank.gpu_memory) file.row(cells_of(row));
      file.flush();
    }
    if (!rank.norms.empty()) {
      CsvWriter file(writer.folder() / table_of<NormRow>().file, header_of<NormRow>());
      for (const auto& row : rank.norms) file.row(cells_of(row));
      file.flush();
    }
    const auto steps = writer.folder() / table_of<StepRow>().file;
    if (rank.exit) writer.finish(*rank.exit);
    add_updated(rank.steps, steps);
  }
}
SyntheticCell::SyntheticCell(const SyntheticPlan& synthetic)
    : reference(synthetic_reference(synthetic)), candidate(synthetic_candidate(synthetic)) {
  plan.id = "synthetic";
  plan.world = static_cast<std::int64_t>(synthetic.stages.size());
  plan.clipping_must_act = true;
}

std::filesystem::path SyntheticCell::write_reference() {
  std::filesystem::remove_all(folder / "reference");
  write_run(reference, folder / "reference");
  return folder / "reference";
}

std::filesystem::path SyntheticCell::write_candidate() {
  std::filesystem::remove_all(folder / "candidate");
  write_run(candidate, folder / "candidate");
  return folder / "candidate";
}

CellVerdict SyntheticCell::judge() {
  const auto one = write_reference(), other = write_candidate();
  if (!repeated) return judge_cell(plan, one, other);
  write_run(*repeated, folder / "repeated");
  return judge_cell(plan, one, other, folder / "repeated");
}

std::vector<std::reference_wrapper<RankRecord>> SyntheticCell::all_ranks() {
  std::vector<std::reference_wrapper<RankRecord>> all(reference.ranks.begin(), reference.ranks.end());
  all.insert(all.end(), candidate.ranks.begin(), candidate.ranks.end());
  return all;
}

const CheckResult& result_of(const CellVerdict& verdict, std::string_view check) {
  for (const auto& result : verdict.checks) {
    if (result.name == check) return result;
  }
  throw std::logic_error("no result of " + std::string(check));
}

CheckResult result_of(CellVerdict&& verdict, std::string_view check) {
  return result_of(std::as_const(verdict), check);
}

std::vector<std::string> with_outcome(const CellVerdict& verdict, Outcome outcome) {
  std::vector<std::string> names;
  for (const auto& result : verdict.checks) {
    if (result.outcome == outcome && result.name != "audit") names.push_back(result.name);
  }
  return names;
}

}  // namespace plumbline::testing
