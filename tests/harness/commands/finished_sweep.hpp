// SPDX-License-Identifier: BSD-3-Clause
// The folder of a finished sweep of one case, and the program's commands as a user types them.
#pragma once

#include <CLI/CLI.hpp>

#include "harness/judge/judge.hpp"
#include "harness/sweep/judge_again.hpp"
#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/harness/judge/synthetic_run.hpp"
#include "tests/harness/matchers.hpp"

namespace plumbline::testing {

struct Result {
  int code = -1;
  std::string said;
};

/// `add` is one of the add_..._command. Errors become message and exit code as in main().
template <typename Add>
Result command_result(Add add, const std::string& line) {
  CLI::App app;
  ::testing::internal::CaptureStdout();
  std::string refused;
  int code = 2;
  try {
    const auto command = add(app);
    app.parse(line, false);
    code = command();
  } catch (const Error& error) {
    code = static_cast<int>(error.code());
    refused = error.what();
  } catch (const CLI::ParseError& error) {
    refused = error.what();
  }
  const std::string said = ::testing::internal::GetCapturedStdout();
  return {code, said + refused};
}

class FinishedSweepFolder : public ::testing::Test {
 protected:
  FinishedSweepFolder() {
    make_folder(out_ / "references");
    make_folder(out_ / "cells");
    write_records();
    KeptSweep kept;
    kept.name = "kept";
    kept.selection.of_cells = 3;
    CellPlan plan = cell_.plan;
    plan.id = "c";
    plan.reference = "r";
    plan.run = "run";
    plan.model = "model";
    plan.optimizer = "adamw";
    plan.bench = true;
    kept.cells = {plan};
    write_json(out_ / "sweep.json", {{"schema", "plumbline-sweep/1"},
                                     {"name", kept.name},
                                     {"started", "2026-11-22T00:00:00Z"},
                                     {"plan", to_json(kept)}});
    for (const std::string launch : {"reference-r", "c"}) {
      make_folder(out_ / "launches" / launch);
      write_json(out_ / "launches" / launch / "finding.json", to_json(LaunchFinding{}));
    }
  }
  /// Both in their current form.
  void write_records() {
    std::filesystem::remove_all(out_ / "references" / "r");
    std::filesystem::remove_all(out_ / "cells" / "c");
    write_run(cell_.reference, out_ / "references" / "r");
    write_run(cell_.candidate, out_ / "cells" / "c");
  }

  void judge_records() const {
    judge_again(out_, {judge_cell, [](const std::filesystem::path&) {}, judge_reference}, {{"version", "1"}}, stderr);
  }
  /// A second cell `d` in this copy or the folder itself, as good as the first.
  void add_cell(const std::filesystem::path& sweep) const {
    Verdict verdict = read_verdict(sweep / "verdict.json");
    verdict.cells.push_back(verdict.cells.front());
    verdict.cells.back().id = "d";
    std::filesystem::copy(sweep / "cells/c", sweep / "cells/d", std::filesystem::copy_options::recursive);
    write_verdict(sweep / "verdict.json", verdict);
  }

  TemporaryFolder folder_;
  const std::filesystem::path out_ = folder_ / "out";
  SyntheticCell cell_;
};

}  // namespace plumbline::testing
