#include "reports/junit.hpp"

#include "reports/markup.hpp"
#include "reports/words.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

std::string attribute(const std::string& name, const std::string& value) {
  return " " + name + "=\"" + xml_escape(value) + "\"";
}

struct Suite {
  std::string name;
  double seconds = 0;
  std::size_t tests = 0, failures = 0, skipped = 0;
  std::string cases;

  void add(const std::string& test, const std::string& inside) {
    ++tests;
    cases += "    <testcase" + attribute("classname", name) + attribute("name", test);
    cases += inside.empty() ? "/>\n" : ">" + inside + "</testcase>\n";
  }
  void add_failure(const std::string& test, const std::string& type, const std::string& message,
                   const std::string& text) {
    ++failures;
    add(test,
        "<failure" + attribute("type", type) + attribute("message", message) + ">" + xml_escape(text) + "</failure>");
  }
  void add_skipped(const std::string& test, const std::string& message) {
    ++skipped;
    add(test, "<skipped" + attribute("message", message) + "/>");
  }
  std::string counts() const {
    return attribute("tests", std::to_string(tests)) + attribute("failures", std::to_string(failures)) +
           attribute("errors", "0") + attribute("skipped", std::to_string(skipped)) +
           attribute("time", to_text(seconds));
  }
  std::string xml() const {
    return "  <testsuite" + attribute("name", name) + counts() + ">\n" + cases + "  </testsuite>\n";
  }
};

std::string failure_text(const CellVerdict& cell, const CheckResult& check) {
  std::string text = check.reason + "\n";
  if (!check.limit.empty()) text += "limit: " + check.limit + "\n";
  if (!check.measured.empty()) text += "measured: " + check.measured + "\n";
  if (check.first_divergence) {
    const FirstDivergence& divergence = *check.first_divergence;
    text += "first divergence: " + place_text(divergence) + "; expected " + divergence.expected + ", got " +
            divergence.got + "\n";
    if (!divergence.words.empty()) text += divergence.words + "\n";
  }
  if (!cell.command.empty()) text += "run this cell again: " + cell.command + "\n";
  return text;
}

void add_check(Suite& suite, const CellVerdict& cell, const CheckResult& check) {
  if (check.outcome == Outcome::holds) {
    suite.add(check.name, "");
  } else if (stands_in_the_way(check)) {
    const std::string message = outcome_words(check.outcome) + (check.reason.empty() ? "" : ": " + check.reason);
    suite.add_failure(check.name, to_text(check.outcome), message, failure_text(cell, check));
  } else {
    suite.add_skipped(check.name, outcome_words(check.outcome) + ": " + check.reason);
  }
}

Suite cell_suite(const CellVerdict& cell) {
  Suite suite{.name = cell.id, .seconds = cell.seconds, .cases = {}};
  for (const auto& check : cell.checks) add_check(suite, cell, check);
  if (!cell.holds && suite.failures == 0) {
    suite.add_failure("cell", "does_not_hold", "the cell does not hold", "run this cell again: " + cell.command);
  }
  return suite;
}

Suite sweep_suite(const Verdict& verdict) {
  Suite suite{.name = "sweep", .cases = {}};
  if (verdict.holds) {
    suite.add("verdict", "");
  } else {
    suite.add_failure("verdict", "does_not_hold", "the verdict does not hold", join(verdict.not_run, "\n"));
  }
  for (std::size_t i = 0; i < verdict.not_run.size(); ++i) {
    suite.add_skipped("not_run_" + std::to_string(i + 1), verdict.not_run[i]);
  }
  for (std::size_t i = 0; i < verdict.not_applicable.size(); ++i) {
    suite.add_skipped("not_applicable_" + std::to_string(i + 1), verdict.not_applicable[i]);
  }
  return suite;
}

}  // namespace

std::string junit_xml(const Verdict& verdict) {
  Suite all{.name = verdict.name.empty() ? "plumbline" : verdict.name, .cases = {}};
  std::string suites;
  const auto take = [&](const Suite& suite) {
    all.tests += suite.tests;
    all.failures += suite.failures;
    all.skipped += suite.skipped;
    all.seconds += suite.seconds;
    suites += suite.xml();
  };
  take(sweep_suite(verdict));
  for (const auto& cell : verdict.cells) take(cell_suite(cell));
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + attribute("name", all.name) + all.counts() +
         ">\n" + suites + "</testsuites>\n";
}

}  // namespace plumbline
