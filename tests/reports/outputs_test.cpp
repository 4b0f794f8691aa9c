// SPDX-License-Identifier: BSD-3-Clause
// All texts of a sweep, to review as one: terminal, summary.md, annotations, JUnit and the page without plots, for one
// sweep of each kind of result. They are in tests/approved/reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "reports/annotations.hpp"
#include "reports/failing_cells.hpp"
#include "reports/headline.hpp"
#include "reports/junit.hpp"
#include "reports/results_csv.hpp"
#include "reports/summary_md.hpp"
#include "tests/approved.hpp"
#include "tests/reports/page_sections.hpp"

namespace plumbline {
namespace {

using testing::break_check;
using testing::check_of;

/// One line for each block of the page, without plots and styles.
std::string in_lines(const std::string& page) {
  std::string text;
  for (std::size_t at = 0; at < page.size();) {
    for (const std::string part : {"style", "svg"}) {
      if (page.compare(at, part.size() + 1, "<" + part) == 0) at = page.find("</" + part + ">", at);
    }
    text += page[at++];
  }
  static const std::regex block("<(tr|li|h[1-6]|p|dt|div|details|header|caption|table|footer|section|nav|ul)[ >]");
  return std::regex_replace(std::regex_replace(text, block, "\n$&"), std::regex("\n(\\s*\n)+"), "\n");
}

/// The first cases of the sample.
Verdict few(std::size_t cells) {
  Verdict verdict = testing::sample_verdict(3);
  verdict.cells.resize(cells);
  verdict.references.resize(2);
  verdict.selection.cells = verdict.selection.of_cells = static_cast<std::int64_t>(cells);
  sum_up(verdict);
  return verdict;
}

/// Without the lines that are also on the page of a sweep that holds.
std::string other_lines(const std::string& page) {
  const auto lines_of = [](const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
  };
  const auto usual = lines_of(in_lines(testing::rendered_page(few(2))));
  std::string text;
  for (const std::string& line : lines_of(page))
    if (std::ranges::find(usual, line) == usual.end()) text += line + "\n";
  return text;
}

void expect_outputs(const std::string& name, const Verdict& verdict, const Evidence& evidence) {
  const std::string page = in_lines(make_page(verdict, evidence));
  std::string text = "-- headline\n" + headline(verdict) + "\n-- claim\n" + claim(verdict) + "\n-- progress\n";
  for (const CellVerdict& cell : verdict.cells) text += cell.id + ": " + progress_words(cell) + "\n";
  text += "-- failing cases\n" + failing_cells(verdict, 200) + "\n-- summary.md\n" + summary_md(verdict) +
          "\n-- annotations\n" + annotations(verdict);
  if (name == "holds" || name == "does-not-hold" || name == "incomplete" || name == "accepted")
    text += "\n-- junit.xml\n" + junit_xml(verdict) + "\n-- results.csv\n" + results_csv(verdict);
  text += "\n-- report.html\n" + (name == "holds" ? page : other_lines(page)) + "\n";
  testing::expect_approved("reports/" + name + ".txt", text);
}

void expect_outputs(const std::string& name, const Verdict& verdict) {
  expect_outputs(name, verdict, testing::sample_evidence(verdict, 2));
}

TEST(Outputs, OfASweepThatHolds) {
  Verdict verdict = few(3);
  CheckResult& data = check_of(verdict.cells[0], "data");
  data.margin = 0.25;
  data.reason = "half of them";
  data.limit = "another limit";
  for (CellVerdict& cell : verdict.cells) check_of(cell, "loss").not_shown = {"one", "two"};
  verdict.not_applicable = {"untied-dualpipe-v-w8: it needs <16> microbatches"};
  expect_outputs("holds", verdict);
}

TEST(Outputs, OfASweepWithinLimits) {
  Verdict verdict = few(2);
  verdict.comparison_mode = ComparisonMode::calibrated;
  verdict.machine = {{"device", "cuda"},
                     {"machine", {{"cpu_model", "EPYC"}, {"aten_capability", "AVX2"}, {"cores", 4}}},
                     {"versions", {{"libtorch", "2.12"}}}};
  expect_outputs("calibrated", verdict);
}

TEST(Outputs, OfPartOfASweep) {
  Verdict verdict = few(2);
  verdict.selection = {2, 123, {"completion", "loss"}};
  for (CellVerdict& cell : verdict.cells) {
    CheckResult& memory = check_of(cell, "memory");
    memory.outcome = Outcome::incomplete;
    memory.required = false;
  }
  sum_up(verdict);
  expect_outputs("in-part", verdict);
}

/// Of six cases one differs, one is unstable, one crashed, two lack different required checks, and one holds.
TEST(Outputs, OfASweepThatDoesNotHold) {
  Verdict verdict = few(6);
  break_check(verdict, 0, "boundaries");
  verdict.cells[0].first_divergence->size = "l2 4 times";
  break_check(verdict, 1, "loss");
  verdict.cells[1].second_run = SecondRun{SecondRun::Outcome::holds, "every check holds"};
  break_check(verdict, 2, "completion");
  verdict.cells[2].first_divergence->level = "completion";
  for (const std::size_t cell : {3U, 4U}) {
    CheckResult& memory = check_of(verdict.cells[cell], "memory");
    memory.outcome = Outcome::incomplete;
    memory.required = cell == 3;
    memory.reason = "no column";
  }
  verdict.cells[3].holds = false;
  verdict.cells[4].run = "long";
  verdict.cells[4].variant = "resumed";
  verdict.cells[5].versions["mpi"] = "MPICH 4.2";
  verdict.cells[5].command = "plumbline sweep elsewhere.toml --cells " + verdict.cells[5].id;
  verdict.references[0].checks[0].outcome = Outcome::incomplete;
  verdict.references[0].checks[0].required = false;
  verdict.references[0].checks[0].reason = "no microbatch is fully masked";
  verdict.references[1].finished = false;
  verdict.not_run = {"a-w1: reference a did not finish: it was killed",
                     "a-w2: reference a did not finish: it was killed", "fifth: no mpirun", "sixth"};
  verdict.harness["commit"] = "0123456789ab-dirty";
  verdict.machine["versions"]["commit"] = "ba9876543210";
  verdict.harness["behind_head"] = 1;
  sum_up(verdict);
  Evidence evidence = testing::sample_evidence(verdict, 2);
  evidence.launches[verdict.cells[0].id] = {"mpirun -n 1 'a b' <run.toml>", "rank 0: <killed>"};
  evidence.cells.at(verdict.cells[0].id).environment = {{"versions/libtorch", "2.10.0", "2.11.0"}};
  evidence.missing = {"cells/a: steps.csv is truncated at line 3"};
  expect_outputs("does-not-hold", verdict, evidence);
}

TEST(Outputs, OfCasesWithOneCause) {
  Verdict verdict = few(6);
  for (const std::size_t cell : {0U, 1U, 2U, 3U, 4U, 5U}) break_check(verdict, cell, "loss");
  verdict.cells[0].first_divergence->step = 2;
  verdict.cells[0].second_run = SecondRun{SecondRun::Outcome::fails_again, "so"};
  verdict.cells[5].first_divergence->level = "completion";
  verdict.cells[5].second_run = SecondRun{SecondRun::Outcome::not_done, "so"};
  for (const char* name : {"gradients", "parameters", "data"}) {
    CheckResult& check = check_of(verdict.cells[1], name);
    check.outcome = Outcome::differs;
    check.reason = std::string(name) == "data" ? "another" : check_of(verdict.cells[1], "loss").reason;
  }
  check_of(verdict.cells[1], "data").first_divergence.emplace().step = 2;
  sum_up(verdict);
  expect_outputs("causes", verdict);
}

TEST(Outputs, OfASweepThatIsIncomplete) {
  Verdict verdict = few(4);
  testing::leave_out(verdict, 0);
  testing::leave_out(verdict, 1);
  expect_outputs("incomplete", verdict);
  break_check(verdict, 2, "loss");
  sum_up(verdict);
  expect_outputs("incomplete-and-different", verdict);
}

TEST(Outputs, OfAnAcceptedIncompleteClaim) {
  Verdict verdict = few(2);
  testing::leave_out(verdict, 0, true);
  expect_outputs("accepted", verdict);
}

TEST(Outputs, OfDataThatTheRecorderCouldNotSee) {
  Verdict verdict = few(2);
  verdict.cells[0].not_recorded = {{"candidate", "receives", "torch 2.16.0 hides it", "2.16.0"},
                                   {"reference", "receives", "torch 2.16.0 hides it", "2.16.0"}};
  CheckResult& boundaries = check_of(verdict.cells[0], "boundaries");
  boundaries.outcome = Outcome::incomplete;
  boundaries.required = false;
  sum_up(verdict);
  expect_outputs("not-recorded", verdict);
}

TEST(Outputs, OfNoCase) {
  Verdict verdict;
  verdict.not_run = {"everything: mpirun is missing"};
  verdict.machine = Json::object();
  expect_outputs("no-case", verdict, Evidence{});
}

/// Cases hold, but a required check of a reference is incomplete.
TEST(Outputs, OfCasesThatHoldInASweepThatDoesNot) {
  Verdict verdict = few(1);
  verdict.references[1].checks[0].outcome = Outcome::incomplete;
  verdict.references[1].checks[0].reason = "no masked microbatch";
  verdict.holds = false;
  expect_outputs("reference-incomplete", verdict);
}

}  // namespace
}  // namespace plumbline
