// SPDX-License-Identifier: BSD-3-Clause
// verdict.json: one list of keys per type, by which it is written and read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "record/json_keys.hpp"
#include "record/verdict.hpp"

namespace plumbline {
namespace {

constexpr const char* first_schema = "plumbline-verdict/1";
/// The words of schema 1 for a check that the sweep did not select.
constexpr const char* not_asked_for = "not asked for in this cell";

template <class Value>
using Names = std::vector<std::pair<Value, std::string>>;

// The parameter only selects the type.
const Names<Outcome>& names_of(Outcome) {
  using enum Outcome;
  static const Names<Outcome> names{{holds, "holds"},
                                    {fails, "fails"},
                                    {not_run, "not_run"},
                                    {not_applicable, "not_applicable"},
                                    {not_triggered, "not_triggered"}};
  return names;
}
const Names<Requirement>& names_of(Requirement) {
  using enum Requirement;
  static const Names<Requirement> names{
      {required, "required"}, {informational, "told"}, {not_applicable, "not_applicable"}};
  return names;
}
const Names<ComparisonMode>& names_of(ComparisonMode) {
  static const Names<ComparisonMode> names{{ComparisonMode::bits, "bits"}, {ComparisonMode::calibrated, "calibrated"}};
  return names;
}
const Names<SecondRun::Outcome>& names_of(SecondRun::Outcome) {
  using enum SecondRun::Outcome;
  static const Names<SecondRun::Outcome> names{{fails_again, "fails_again"}, {holds, "holds"}, {not_done, "not_done"}};
  return names;
}

template <class Value>
std::string name_of(Value value) {
  return std::ranges::find(names_of(value), value, &std::pair<Value, std::string>::first)->second;
}

/// Which verdicts have a key.
enum class Since {
  first,   ///< all
  second,  ///< from schema 2 on
  later,   ///< newer ones of schema 2
};

/// T or const T.
template <class Given, class Type>
concept A = std::is_same_v<std::remove_const_t<Given>, Type>;

void list_keys(A<Finding> auto& finding, auto& keys) {
  keys("rung", finding.level);
  keys("step", finding.step);
  keys("microbatch", finding.microbatch);
  keys("stage", finding.stage);
  keys("rank", finding.rank);
  keys.count("replica", finding.replica);
  keys("direction", finding.direction);
  keys("item", finding.item);
  keys("expected", finding.expected);
  keys("got", finding.got);
  keys("size", finding.size, Since::second);
  keys("words", finding.words);
}

void list_keys(A<CheckResult> auto& check, auto& keys) {
  keys("name", check.name);
  keys("outcome", check.outcome);
  keys("requirement", check.requirement, Since::second);
  keys("reason", check.reason);
  keys("compared", check.compared, Since::second);
  keys("looked_at", check.inspected);
  keys("not_shown", check.not_shown, Since::second);
  keys("limit", check.limit);
  keys("measured", check.measured);
  keys("margin", check.margin);
  keys("predicted_peak_bytes", check.predicted_peak_bytes, keys.first ? Since::later : Since::first);
  keys("first_divergence", check.first_divergence);
}

void list_keys(A<SecondRun> auto& second, auto& keys) {
  keys("outcome", second.outcome);
  keys("words", second.words);
}

void list_keys(A<UlpBucket> auto& bucket, auto& keys) {
  keys("from", bucket.from);
  keys("to", bucket.to);
  keys("elements", bucket.elements);
}

void list_keys(A<FaultSignature> auto& found, auto& keys) {
  keys("name", found.name);
  keys("words", found.words);
  keys("evidence", found.evidence);
  keys("suggests", found.suggests);
}

void list_keys(A<ValueFindings> auto& findings, auto& keys) {
  keys("step", findings.step);
  keys("tensor", findings.tensor);
  keys("ulps", findings.ulps);
  keys("not_numbers", findings.not_numbers);
  keys("fingerprints", findings.fault_signatures);
  keys("otherwise", findings.otherwise);
}

void list_keys(A<Unrecorded> auto& unrecorded, auto& keys) {
  keys("record", unrecorded.record);
  keys("what", unrecorded.what);
  keys("why", unrecorded.why);
  keys("torch", unrecorded.torch);
}

void list_keys(A<Missing> auto& missing, auto& keys) {
  keys("claim", missing.claim);
  keys.count("from_step", missing.from_step);
  keys("why", missing.why);
  keys("accepted", missing.accepted);
}

void list_keys(A<CellVerdict> auto& cell, auto& keys) {
  keys("id", cell.id);
  keys("run", cell.run);
  keys("model", cell.model);
  keys("optimizer", cell.optimizer);
  keys("schedule", cell.schedule);
  keys.count("world", cell.world);
  keys.count("replicas", cell.replicas, Since::later, 1);
  keys("balance", cell.balance);
  keys("variant", cell.variant, Since::second);
  keys("reference", cell.reference, Since::second);
  keys("holds", cell.holds);
  keys.written_alone("incomplete", cell.incomplete());
  keys("missing", cell.missing, Since::later);
  keys.written_alone("unstable", cell.unstable());
  keys("second_run", cell.second_run, Since::second);
  keys("values", cell.values, Since::later);
  keys("seconds", cell.seconds);
  keys("command", cell.command);
  keys("request", cell.request, Since::second);
  keys("versions", cell.versions, Since::second);
  keys("not_recorded", cell.not_recorded, Since::later);
  keys.count("norm_diverged_at", cell.norm_diverged_at);
  keys("first_divergence", cell.first_divergence);
  keys("checks", cell.checks);
}

void list_keys(A<ReferenceVerdict> auto& reference, auto& keys) {
  keys("id", reference.id);
  keys("run", reference.run);
  keys("model", reference.model);
  keys("optimizer", reference.optimizer);
  keys("finished", reference.finished);
  keys("reason", reference.reason);
  keys("seconds", reference.seconds);
  keys("request", reference.request);
  keys("versions", reference.versions);
  keys("checks", reference.checks);
}

void list_keys(A<Selection> auto& selection, auto& keys) {
  keys.written_alone("partial", selection.partial());
  keys.count("cells", selection.cells);
  keys.count("of_cells", selection.of_cells);
  keys("checks", selection.checks);
}

void list_keys(A<Verdict> auto& verdict, auto& keys) {
  keys("name", verdict.name);
  keys("started", verdict.started);
  keys("holds", verdict.holds);
  keys("tier", verdict.comparison_mode, Since::second);
  keys("selection", verdict.selection, Since::second);
  keys("counts", verdict.counts);
  keys("compared", verdict.compared, Since::second);
  keys("looked_at", verdict.inspected, Since::second);
  keys("harness", verdict.harness, Since::second);
  keys("machine", verdict.machine);
  keys("references", verdict.references, Since::second);
  keys("cells", verdict.cells);
  keys("not_run", verdict.not_run);
  keys("not_applicable", verdict.not_applicable, keys.first ? Since::later : Since::first);
}

class KeyWriter {
 public:
  static constexpr bool first = false;
  Json json = Json::object();

  template <class Value>
  void operator()(const char* key, const Value& value, Since = Since::first) {
    json[key] = json_of(value);
  }
  template <class Count>
  void count(const char* key, const Count& value, Since = Since::first, std::int64_t = 0) {
    json[key] = json_of(value);
  }
  void written_alone(const char* key, bool value) { json[key] = value; }

 private:
  template <class Value>
  static Json json_of(const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      return name_of(value);
    } else if constexpr (requires(KeyWriter keys) { list_keys(value, keys); }) {
      KeyWriter keys;
      list_keys(value, keys);
      return std::move(keys.json);
    } else {
      return Json(value);
    }
  }
  /// JSON has neither NaN nor infinity.
  static Json json_of(double value) { return std::isfinite(value) ? value : 0.0; }
  static Json json_of(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
  }
  /// nlohmann::json writes an empty map as null.
  static Json json_of(const Counts& counts) { return counts.empty() ? Json::object() : Json(counts); }
  template <class Value>
  static Json json_of(const std::optional<Value>& value) {
    return value ? json_of(*value) : Json(nullptr);
  }
  template <class Value>
  static Json json_of(const std::vector<Value>& values) {
    Json list = Json::array();
    for (const Value& value : values) list.push_back(json_of(value));
    return list;
  }
};

class KeyReader {
 public:
  KeyReader(const JsonKeys& keys, bool of_first_schema) : first(of_first_schema), keys_(keys) {}

  const bool first;  ///< schema 1

  template <class Value>
  void operator()(const char* key, Value& value, Since since = Since::first) {
    if (since == Since::second && first) return;
    if (since == Since::later && !keys_.has_value(key)) return;
    read(key, value);
  }
  void count(const char* key, std::int64_t& value, Since since = Since::first, std::int64_t smallest = 0) {
    if (since == Since::first || keys_.has_value(key)) value = keys_.integer(key, smallest);
  }
  void count(const char* key, std::optional<std::int64_t>& value) {
    if (keys_.has_value(key)) value = keys_.integer(key, 0);  // older verdicts lack it
  }
  void written_alone(const char*, bool) {}

 private:
  void read(const char* key, std::string& value) { value = keys_.text(key); }
  void read(const char* key, double& value) { value = keys_.number(key); }
  void read(const char* key, Json& value) { value = keys_.at(key); }
  void read(const char* key, std::vector<std::string>& value) { value = keys_.texts(key); }
  /// A verdict repeats a record's numbers, however wrong they are.
  void read(const char* key, std::int64_t& value) {
    value = keys_.integer(key, std::numeric_limits<std::int64_t>::min());
  }
  void read(const char* key, bool& value) { convert(key, value, "true or false"); }
  void read(const char* key, Counts& value) { convert(key, value, "an object of integers"); }
  void read(const char* key, std::vector<std::int64_t>& value) { convert(key, value, "a list of integers"); }
  template <class Value>
  void read(const char* key, std::optional<Value>& value) {
    value.reset();
    if (!keys_.at(key).is_null()) read(key, value.emplace());
  }
  template <class Value>
  void read(const char* key, std::vector<Value>& values) {
    for (const JsonKeys& each : keys_.objects(key)) read_keys(each, values.emplace_back());
  }
  template <class Value>
  void read(const char* key, Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      std::vector<std::string> known;
      for (const auto& [each, name] : names_of(Value())) known.push_back(name);
      const std::string word = keys_.word(key, known);
      value = std::ranges::find(names_of(Value()), word, &std::pair<Value, std::string>::second)->first;
    } else {
      read_keys(keys_.object(key), value);
    }
  }

  template <class Value>
  void read_keys(const JsonKeys& keys, Value& value) const {
    KeyReader reader(keys, first);
    list_keys(value, reader);
    if constexpr (std::is_same_v<Value, CheckResult>)
      if (first) value.requirement = requirement_of_first_schema(keys, value.outcome);
  }

  static Requirement requirement_of_first_schema(const JsonKeys& keys, Outcome outcome) {
    if (outcome == Outcome::not_applicable) return Requirement::not_applicable;
    bool required = false;
    KeyReader(keys, true)("required", required);
    return required ? Requirement::required : Requirement::informational;
  }

  template <class Value>
  void convert(const char* key, Value& value, const char* form) const {
    try {
      value = keys_.at(key).get<Value>();
    } catch (const Json::exception&) {
      keys_.fail(key, std::string("must be ") + form);
    }
  }

  const JsonKeys& keys_;
};

/// Schema 1 has neither comparison mode nor selection: both are derived from its checks.
void complete_first(Verdict& verdict) {
  verdict.selection.cells = verdict.selection.of_cells = std::ssize(verdict.cells) + std::ssize(verdict.not_run);
  for (const auto& cell : verdict.cells) {
    std::vector<std::string> asked;
    for (const auto& check : cell.checks) {
      if (check.limit.starts_with("calibrated")) verdict.comparison_mode = ComparisonMode::calibrated;
      if (check.reason != not_asked_for) asked.push_back(check.name);
    }
    if (asked.size() < cell.checks.size()) verdict.selection.checks = asked;
  }
  const Counts all = std::move(verdict.counts);
  verdict.counts.clear();
  for (const auto& [what, number] : all) {
    const bool of_checks = what.starts_with("cells") || what.starts_with("checks");
    (of_checks ? verdict.counts : verdict.inspected)[what] = number;
  }
}

/// `holds` follows from what it sums up.
void refuse_contradiction(const JsonKeys& keys, const Verdict& verdict) {
  for (const CellVerdict& cell : verdict.cells) {
    const auto blocking = std::ranges::find_if(cell.checks, is_blocking);
    if (cell.holds && blocking != cell.checks.end())
      keys.fail("cells", fmt::format("{} holds, but its required check {} does not", cell.id, blocking->name));
    if (verdict.holds && !cell.holds) keys.fail("holds", fmt::format("is true, but {} does not hold", cell.id));
  }
}

}  // namespace

std::string to_text(Outcome outcome) {
  return name_of(outcome);
}
std::string to_text(Requirement requirement) {
  return name_of(requirement);
}
std::string to_text(ComparisonMode comparison_mode) {
  return name_of(comparison_mode);
}
std::string to_text(SecondRun::Outcome outcome) {
  return name_of(outcome);
}

Json to_json(const Verdict& verdict) {
  KeyWriter keys;
  keys("schema", std::string(verdict_schema));
  list_keys(verdict, keys);
  return std::move(keys.json);
}

void write_verdict(const std::filesystem::path& path, const Verdict& verdict) {
  write_json(path, to_json(verdict));
}

Verdict read_verdict(const std::filesystem::path& path) {
  const Json json = read_json(path);
  const JsonKeys keys(path, json);
  const std::string schema = keys.text("schema");
  if (schema != verdict_schema && schema != first_schema) {
    keys.fail("schema", fmt::format("'{}' is not read by this version; it reads {} and {}", schema, verdict_schema,
                                    first_schema));
  }
  Verdict verdict;
  KeyReader reader(keys, schema == first_schema);
  list_keys(verdict, reader);
  if (reader.first) complete_first(verdict);
  refuse_contradiction(keys, verdict);
  return verdict;
}

}  // namespace plumbline
