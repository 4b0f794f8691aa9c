// SPDX-License-Identifier: BSD-3-Clause
#include "reports/junit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "reports/headline.hpp"
#include "reports/markup.hpp"
#include "reports/words.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

std::string attribute(const std::string& name, const std::string& value) {
  return fmt::format(" {}=\"{}\"", name, xml_escape(value));
}

/// The known parts: an external trainer may name no optimizer or schedule.
std::string named(std::vector<std::string> parts) {
  std::erase(parts, "");
  return join(parts, "/");
}

class Suite {
 public:
  explicit Suite(std::string name, double seconds = 0) : name_(std::move(name)), seconds_(seconds) {}

  void pass(const std::string& test) { add(test, ""); }
  void fail(const std::string& test, const std::string& type, const std::string& message, const std::string& text) {
    ++failures_;
    add(test, trouble("failure", type, message, text));
  }
  void error(const std::string& test, const std::string& message, const std::string& text) {
    ++errors_;
    add(test, trouble("error", "crash", message, text));
  }
  void skip(const std::string& test, const std::string& message) {
    ++skipped_;
    add(test, fmt::format("<skipped{}/>", attribute("message", message)));
  }
  void property(const std::string& name, const std::string& value) {
    properties_ += fmt::format("      <property{}{}/>\n", attribute("name", name), attribute("value", value));
  }
  /// Each text value of a JSON object as a property "<prefix>.<key>".
  void properties(const std::string& prefix, const Json& values) {
    if (!values.is_object()) return;
    for (const auto& [key, value] : values.items()) {
      if (value.is_null() || value.is_structured()) continue;
      property(prefix + "." + key, unquoted(value));
    }
  }
  void standard_error(const std::string& text) { output_ = text; }

  bool red() const { return failures_ + errors_ > 0; }
  std::string xml(const std::string& timestamp) const {
    return fmt::format("  <testsuite{}{}{}>\n{}{}{}  </testsuite>\n", attribute("name", name_), counts(),
                       timestamp.empty() ? "" : attribute("timestamp", timestamp),
                       properties_.empty() ? "" : fmt::format("    <properties>\n{}    </properties>\n", properties_),
                       cases_,
                       output_.empty() ? "" : fmt::format("    <system-out>{}</system-out>\n", xml_escape(output_)));
  }
  std::string counts() const {
    return fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{}\"", tests_, failures_,
                       errors_, skipped_, to_text(seconds_));
  }
  void take_counts(const Suite& other) {
    tests_ += other.tests_;
    failures_ += other.failures_;
    errors_ += other.errors_;
    skipped_ += other.skipped_;
    seconds_ += other.seconds_;
  }

 private:
  static std::string trouble(const std::string& element, const std::string& type, const std::string& message,
                             const std::string& text) {
    return fmt::format("<{0}{1}{2}>{3}</{0}>", element, attribute("type", type), attribute("message", message),
                       xml_escape(text));
  }
  void add(const std::string& test, const std::string& inside) {
    // The first case has the run's time, so that the sum over the cases is the suite's.
    const double seconds = tests_++ == 0 ? seconds_ : 0;
    cases_ += fmt::format("    <testcase{}{}{}{}", attribute("classname", name_), attribute("name", test),
                          attribute("time", to_text(seconds)),
                          inside.empty() ? "/>\n" : fmt::format(">{}</testcase>\n", inside));
  }

  std::string name_;
  double seconds_;
  std::size_t tests_ = 0, failures_ = 0, errors_ = 0, skipped_ = 0;
  std::string properties_, cases_, output_;
};

std::string failure_text(const CheckResult& check, const std::string& command) {
  std::string text = check.reason + "\n";
  const auto add = [&](const char* what, const std::string& words) {
    if (!words.empty()) text += fmt::format("{}{}\n", what, words);
  };
  add("limit: ", check.limit);
  add("measured: ", check.measured);
  if (check.first_divergence) {
    const Finding& divergence = *check.first_divergence;
    text += fmt::format("first divergence: {}; expected {}, got {}\n", place_text(divergence), divergence.expected,
                        divergence.got);
    add("", divergence.words);
    add("size: ", divergence.size);
  }
  add("run this case again: ", command);
  return text;
}

void add_checks(Suite& suite, const std::vector<CheckResult>& checks, const std::string& command) {
  const bool crashed = std::ranges::any_of(
      checks, [](const CheckResult& check) { return check.name == "completion" && check.outcome == Outcome::differs; });
  for (const auto& check : checks) {
    const std::string message = outcome_words(check.outcome) +
                                (check.reason.empty() ? "" : ": " + reason_words(check)) +
                                (check.accepted ? "; accepted by the user" : "");
    if (check.outcome == Outcome::holds) {
      suite.pass(check.name);
    } else if (crashed && check.name == "completion") {
      suite.error(check.name, message, failure_text(check, command));
    } else if (is_blocking(check) && !(crashed && check.outcome == Outcome::incomplete)) {
      suite.fail(check.name, to_text(check.outcome), message, failure_text(check, command));
    } else {
      suite.skip(check.name, message);
    }
  }
}

std::string output_of(const LaunchEvidences& launches, const std::string& launch) {
  const auto found = launches.find(launch);
  return found == launches.end() ? "" : found->second.error_end;
}

Suite suite_of(const CellVerdict& cell, const LaunchEvidences& launches) {
  Suite suite(suite_name(cell), cell.seconds);
  suite.property("cell", cell.id);
  suite.property("reference", cell.reference);
  suite.properties("candidate", cell.versions);
  if (const std::string accepted = missing_words(cell.checks, true); !accepted.empty())
    suite.property("accepted", accepted);
  add_checks(suite, cell.checks, cell.command);
  if (cell.second_run) {
    const std::string words = cell.second_run->words;
    if (cell.unstable()) {
      suite.fail("second_run", "unstable", "unstable: failed, but held when it was run again", words);
    } else {
      suite.property("second_run", fmt::format("{}: {}", to_text(cell.second_run->outcome), words));
    }
  }
  if (!cell.holds && !suite.red()) {
    suite.fail("cell", "does_not_hold", "the case does not hold", "run this case again: " + cell.command);
  }
  suite.standard_error(output_of(launches, cell.id));
  return suite;
}

Suite suite_of(const ReferenceVerdict& reference, const LaunchEvidences& launches) {
  Suite suite(named({reference.run, reference.optimizer, "reference", reference.id}), reference.seconds);
  suite.properties("reference", reference.versions);
  if (reference.finished) {
    suite.pass("completion");
  } else {
    suite.error("completion", "nothing can be compared with it: " + reference.reason, reference.reason);
  }
  add_checks(suite, reference.checks, "");
  suite.standard_error(output_of(launches, "reference-" + reference.id));
  return suite;
}

/// "<name>: <why>" of what was not or cannot be run.
void skip_named(Suite& suite, const std::string& line) {
  const auto colon = line.find(": ");
  suite.skip(line.substr(0, colon), colon == std::string::npos ? line : line.substr(colon + 2));
}

Suite sweep_suite(const Verdict& verdict) {
  Suite suite("sweep");
  suite.property("sweep", verdict.name);
  suite.property("tier", to_text(verdict.comparison_mode));
  suite.property("selection", headline(verdict));
  suite.properties("harness", verdict.harness);
  if (verdict.machine.is_object() && verdict.machine.contains("versions"))
    suite.properties("versions", verdict.machine.at("versions"));
  if (verdict.holds) {
    suite.pass("verdict");
  } else {
    suite.fail("verdict", is_incomplete(verdict) ? "incomplete" : "does_not_hold", headline(verdict),
               join(verdict.not_run, "\n"));
  }
  for (const auto& line : verdict.not_run) skip_named(suite, line);
  for (const auto& line : verdict.not_applicable) skip_named(suite, line);
  return suite;
}

}  // namespace

std::string suite_name(const CellVerdict& cell) {
  std::vector<std::string> parts = {cell.run, cell.optimizer, cell.schedule,
                                    fmt::format("{}P{}", cell.replicas > 1 ? fmt::format("R{}", cell.replicas) : "",
                                                cell.world / std::max<std::int64_t>(cell.replicas, 1))};
  if (!cell.balance.empty()) parts.push_back("balance-" + join(cell.balance, "-"));
  parts.push_back(cell.variant);
  return named(std::move(parts));
}

std::string junit_xml(const Verdict& verdict, const LaunchEvidences& launches) {
  Suite all(verdict.name.empty() ? "plumbline" : verdict.name);
  std::string suites;
  const auto take = [&](const Suite& suite) {
    all.take_counts(suite);
    suites += suite.xml(verdict.started);
  };
  take(sweep_suite(verdict));
  for (const auto& reference : verdict.references) take(suite_of(reference, launches));
  for (const auto& cell : verdict.cells) take(suite_of(cell, launches));
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites{}{}>\n{}</testsuites>\n",
                     attribute("name", verdict.name.empty() ? "plumbline" : verdict.name), all.counts(), suites);
}

}  // namespace plumbline
