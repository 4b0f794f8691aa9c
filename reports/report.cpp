// SPDX-License-Identifier: BSD-3-Clause
#include "reports/report.hpp"

#include <algorithm>

#include "reports/annotations.hpp"
#include "reports/evidence.hpp"
#include "reports/junit.hpp"
#include "reports/page.hpp"
#include "reports/results_csv.hpp"
#include "reports/summary_md.hpp"
#include "reports/trace/trace.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// Order of preference for the trace: failing cases first, then those with the most ranks.
std::vector<const CellVerdict*> worth_a_trace(const Verdict& verdict) {
  std::vector<const CellVerdict*> cells;
  for (const CellVerdict& cell : verdict.cells) cells.push_back(&cell);
  std::ranges::stable_sort(cells, [](const CellVerdict* a, const CellVerdict* b) {
    return a->holds != b->holds ? !a->holds : a->world > b->world;
  });
  return cells;
}

/// The trace of the first case that has one. Other records are skipped: the page lists those that cannot be
/// read.
void write_trace_of_sweep(const fs::path& folder, const Verdict& verdict) {
  std::error_code ignored;
  fs::remove(folder / "trace.json", ignored);
  for (const CellVerdict* cell : worth_a_trace(verdict)) {
    try {
      Json trace = trace_of(read_record(record_in(folder / "cells" / cell->id, cell->first_divergence)));
      trace["otherData"]["cell"] = cell->id;
      write_file(folder / "trace.json", json_text(trace) + "\n");
      return;
    } catch (const InputError&) {
    }
  }
}

}  // namespace

void write_reports(const fs::path& folder) {
  const Verdict verdict = read_verdict(folder / "verdict.json");
  const Evidence evidence = gather_evidence(folder, verdict);
  write_file(folder / "junit.xml", junit_xml(verdict, evidence.launches));
  write_file(folder / "results.csv", results_csv(verdict));
  write_file(folder / "summary.md", summary_md(verdict));
  write_file(folder / "annotations.txt", annotations(verdict));
  write_file(folder / "ctest.txt", ctest_measurements(verdict, evidence, fs::absolute(folder / "report.html")));
  write_trace_of_sweep(folder, verdict);
  write_file(folder / "report.html", make_page(verdict, evidence));
}

}  // namespace plumbline
