// SPDX-License-Identifier: BSD-3-Clause
#include "harness/commands/compare.hpp"

#include <fmt/format.h>

#include <iostream>

#include "harness/judge/judge.hpp"
#include "harness/judge/limits/value_comparison.hpp"
#include "harness/sweep/localize.hpp"
#include "harness/sweep/sweep_verdict.hpp"
#include "record/mesh.hpp"
#include "reports/report.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/paths.hpp"
#include "support/shell.hpp"
#include "support/terminal.hpp"
#include "support/text.hpp"

namespace plumbline {

namespace fs = std::filesystem;

namespace {

void need_folder(const fs::path& path, const std::string& whose) {
  if (!fs::is_directory(path)) {
    throw InputError(
        fmt::format("{} (the {}) is not a folder; give the folder that contains manifest.json", path.string(), whose));
  }
}

std::string text_or(const Json& json, const char* key, const std::string& fallback) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : fallback;
}

/// The folder's name, also if it was given as `.`, through a link or with a trailing slash.
std::string name_of_folder(const fs::path& folder, const std::string& otherwise) {
  const std::string name = fs::canonical(folder).filename().string();
  return name.empty() ? otherwise : name;
}

CellPlan plan_of(const Manifest& candidate, bool whole_mesh) {
  CellPlan plan;
  plan.id = "compare";
  plan.model = text_or(candidate.json.at("model"), "model_type", "a model of its own");
  plan.schedule = candidate.schedule_name;
  plan.optimizer = text_or(candidate.json.at("optimizer"), "name", "");
  plan.world = candidate.world_size;
  if (candidate.mesh) plan.variant = candidate.mesh->name();
  if (whole_mesh) {
    plan.variant = candidate.mesh->sizes();
    plan.world = candidate.mesh->world_size();
  }
  return plan;
}

/// The difference of the two tensors of the first divergence, if both records dumped them.
void say_size(const fs::path& reference, const fs::path& candidate, CellVerdict& cell) {
  if (!cell.first_divergence) return;
  std::string& size = cell.first_divergence->size;
  try {
    const auto difference = first_element(*cell.first_divergence, reference, candidate);
    if (difference) size += (size.empty() ? "" : "; ") + to_text(*difference);
  } catch (const InputError& error) {
    size += (size.empty() ? "" : "; ") + std::string("no element is known: ") + error.what();
  }
}

}  // namespace

CellVerdict compare_records(const fs::path& reference, const fs::path& candidate,
                            const std::optional<fs::path>& calibration, const std::optional<fs::path>& request,
                            const std::vector<std::string>& accept_missing) {
  need_folder(reference, "reference");
  need_folder(candidate, "candidate");
  const auto pipelines = judging::pipelines_of(reference, candidate, std::nullopt);
  CellPlan plan = plan_of(read_manifest(pipelines.front().candidate), pipelines.size() > 1);
  plan.run = name_of_folder(candidate, "candidate");
  std::vector<std::string> words = {"plumbline", "compare", reference.string(), candidate.string()};
  if (calibration) words.insert(words.end(), {"--calibration", calibration->string()});
  if (request) words.insert(words.end(), {"--request", request->string()});
  if (!accept_missing.empty()) words.insert(words.end(), {"--accept-missing", join(accept_missing, ",")});
  plan.command = shell_command(words);
  plan.accept_missing = accept_missing;
  plan.calibration = calibration;
  if (request) plan.request = read_request(*request);
  // An unreadable record is bad input here, not a failed check.
  CellVerdict verdict = judging::judge_pipelines(plan, pipelines, judging::Unreadable::thrown);
  say_size(reference, candidate, verdict);
  return verdict;
}

Verdict comparison(const fs::path& reference, const fs::path& candidate, const std::optional<fs::path>& calibration,
                   const std::optional<fs::path>& request, const std::vector<std::string>& accept_missing) {
  CellVerdict cell = compare_records(reference, candidate, calibration, request, accept_missing);
  if (request) cell.request = read_json(*request, most_by_hand);
  Verdict verdict;
  verdict.name = "compare";
  verdict.started = now_text();
  verdict.holds = cell.holds;
  verdict.comparison_mode = calibration ? ComparisonMode::calibrated : ComparisonMode::bits;
  verdict.machine = machine_of(reference);
  verdict.selection.cells = verdict.selection.of_cells = 1;
  judging::BenchRequest bench;
  if (calibration) bench.loosest_loss = judging::loosest_loss(judging::read_calibration(*calibration));
  ReferenceVerdict alone;
  alone.id = cell.reference = name_of_folder(reference, "reference");
  alone.run = cell.run;
  alone.model = cell.model;
  alone.optimizer = cell.optimizer;
  alone.finished = true;
  alone.checks = judge_reference(reference, bench);
  verdict.references = {alone};
  verdict.cells = {cell};
  sum_up(verdict);
  return verdict;
}

void write_comparison(const fs::path& folder, const fs::path& reference, const fs::path& candidate,
                      const Verdict& verdict) {
  const bool was_there = path_exists(folder);
  const fs::path link = folder / "cells" / verdict.cells.front().id;
  if (was_there && !fs::is_empty(folder) && !(fs::is_symlink(link) && path_exists(folder / "verdict.json")))
    throw InputError(folder.string() + ": holds something other than an earlier comparison; give a new folder");
  const fs::path one = fs::canonical(reference), other = fs::canonical(candidate);
  try {
    fs::remove(link);
    fs::remove_all(folder / "references");  // links, too
    make_folder(folder / "references");
    make_folder(folder / "cells");
    fs::create_directory_symlink(one, folder / "references" / verdict.cells.front().reference);
    fs::create_directory_symlink(other, link);
    write_verdict(folder / "verdict.json", verdict);
    write_reports(folder);
  } catch (...) {  // leave no half-made folder for the next call
    release_folder(folder, was_there);
    throw;
  }
}

int compare(const fs::path& reference, const fs::path& candidate, Printed printed,
            const std::optional<fs::path>& calibration, const std::optional<fs::path>& request,
            const std::optional<fs::path>& page, const Json& harness, const std::vector<std::string>& accept_missing) {
  Verdict verdict = comparison(reference, candidate, calibration, request, accept_missing);
  verdict.harness = harness;
  verdict.harness["folder"] = fs::current_path().string();
  if (page) write_comparison(*page, reference, candidate, verdict);
  if (printed == Printed::json)
    std::cout << json_text(to_json(verdict), 2) << std::endl;
  else
    print_text(comparison_text(verdict, printed == Printed::all ? Detail::all : Detail::summary, page));
  return static_cast<int>(verdict.holds ? ExitCode::holds : ExitCode::does_not_hold);
}

}  // namespace plumbline
