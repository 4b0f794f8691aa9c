// SPDX-License-Identifier: BSD-3-Clause
// verdict.json: one list of keys per type, by which it is written and read.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>

#include "record/json_keys.hpp"
#include "record/verdict.hpp"

namespace plumbline {
namespace {

template <class Value>
using Names = std::vector<std::pair<Value, std::string>>;

// The parameter only selects the type.
const Names<Outcome>& names_of(Outcome) {
  using enum Outcome;
  static const Names<Outcome> names{
      {holds, "holds"}, {differs, "differs"}, {incomplete, "incomplete"}, {does_not_apply, "does_not_apply"}};
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

/// T or const T.
template <class Given, class Type>
concept A = std::is_same_v<std::remove_const_t<Given>, Type>;

void list_keys(A<Finding> auto& finding, auto& keys) {
  keys("level", finding.level);
  keys("step", finding.step);
  keys("microbatch", finding.microbatch);
  keys("stage", finding.stage);
  keys("rank", finding.rank);
  keys.count("replica", finding.replica);
  keys("direction", finding.direction);
  keys("item", finding.item);
  keys("expected", finding.expected);
  keys("got", finding.got);
  keys("size", finding.size);
  keys("words", finding.words);
}

void list_keys(A<CheckResult> auto& check, auto& keys) {
  keys("name", check.name);
  keys("outcome", check.outcome);
  keys("required", check.required);
  keys("accepted", check.accepted);
  keys.count("from_step", check.from_step);
  keys("reason", check.reason);
  keys("compared", check.compared);
  keys("inspected", check.inspected);
  keys("evidence", check.evidence);
  keys("not_shown", check.not_shown);
  keys("limit", check.limit);
  keys("measured", check.measured);
  keys("margin", check.margin);
  keys("predicted_peak_bytes", check.predicted_peak_bytes);
}

void list_keys(A<SecondRun> auto& second, auto& keys) {
  keys("outcome", second.outcome);
  keys("words", second.words);
}

void list_keys(A<Unrecorded> auto& unrecorded, auto& keys) {
  keys("record", unrecorded.record);
  keys("what", unrecorded.what);
  keys("why", unrecorded.why);
  keys.count("from_step", unrecorded.from_step);
  keys("torch", unrecorded.torch);
}

void list_keys(A<CellVerdict> auto& cell, auto& keys) {
  keys("id", cell.id);
  keys("run", cell.run);
  keys("model", cell.model);
  keys("optimizer", cell.optimizer);
  keys("schedule", cell.schedule);
  keys.count("world", cell.world);
  keys.count("replicas", cell.replicas, 1);
  keys("balance", cell.balance);
  keys("variant", cell.variant);
  keys("reference", cell.reference);
  keys("holds", cell.holds);
  keys.written_alone("incomplete", cell.incomplete());
  keys.written_alone("unstable", cell.unstable());
  keys("second_run", cell.second_run);
  keys("seconds", cell.seconds);
  keys("command", cell.command);
  keys("request", cell.request);
  keys("versions", cell.versions);
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
}

void list_keys(A<Selection> auto& selection, auto& keys) {
  keys.written_alone("partial", selection.partial());
  keys.count("cases", selection.cells);
  keys.count("of_cases", selection.of_cells);
  keys("checks", selection.checks);
}

/// Without the lists `claims`, `findings` and `excuses`, whose rows name their case.
void list_keys(A<Verdict> auto& verdict, auto& keys) {
  keys("name", verdict.name);
  keys("started", verdict.started);
  keys("holds", verdict.holds);
  keys("mode", verdict.comparison_mode);
  keys("selection", verdict.selection);
  keys("counts", verdict.counts);
  keys("compared", verdict.compared);
  keys("inspected", verdict.inspected);
  keys("harness", verdict.harness);
  keys("machine", verdict.machine);
  keys("not_run", verdict.not_run);
  keys("left_out", verdict.not_applicable);
  keys("references", verdict.references);
  keys("cases", verdict.cells);
}

class KeyWriter {
 public:
  Json json = Json::object();

  template <class Value>
  void operator()(const char* key, const Value& value) {
    json[key] = json_of(value);
  }
  template <class Count>
  void count(const char* key, const Count& value, std::int64_t = 0) {
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
  explicit KeyReader(const JsonKeys& keys) : keys_(keys) {}

  template <class Value>
  void operator()(const char* key, Value& value) {
    read(key, value);
  }
  void count(const char* key, std::int64_t& value, std::int64_t smallest = 0) { value = keys_.integer(key, smallest); }
  void count(const char* key, std::optional<std::int64_t>& value) {
    if (keys_.has_value(key)) value = keys_.integer(key, 0);
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
  static void read_keys(const JsonKeys& keys, Value& value) {
    KeyReader reader(keys);
    list_keys(value, reader);
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

/// The claims, findings and excuses of one case, or the claims of a reference.
class Lists {
 public:
  void add(const CellVerdict& cell) {
    for (const CheckResult& check : cell.checks) row(claims_, cell.id, check, [](KeyWriter&) {});
    const auto add_finding = [&](const Finding& finding, const std::string& claim, bool first) {
      row(findings_, cell.id, finding, [&](KeyWriter& keys) {
        keys("claim", claim);
        keys("first", first);
      });
    };
    const auto& first = cell.first_divergence;
    if (first) add_finding(*first, first->claim, true);
    for (const CheckResult& check : cell.checks)
      if (check.first_divergence && !(first && first->claim == check.name))
        add_finding(*check.first_divergence, check.name, false);
    for (const Unrecorded& unrecorded : cell.not_recorded) row(excuses_, cell.id, unrecorded, [](KeyWriter&) {});
  }

  void add(const ReferenceVerdict& reference) {
    for (const CheckResult& check : reference.checks)
      row(claims_, nullptr, check, [&](KeyWriter& keys) { keys("reference", reference.id); });
  }

  void write(Json& json) {
    json["claims"] = std::move(claims_);
    json["findings"] = std::move(findings_);
    json["excuses"] = std::move(excuses_);
  }

 private:
  template <class Value, class More>
  static void row(Json& list, const Json& id, const Value& value, More more) {
    KeyWriter keys;
    keys("case", id);
    more(keys);
    list_keys(value, keys);
    list.push_back(std::move(keys.json));
  }

  Json claims_ = Json::array(), findings_ = Json::array(), excuses_ = Json::array();
};

/// Gives the rows of the three lists to their cases.
void read_lists(const JsonKeys& keys, Verdict& verdict) {
  std::map<std::string, CellVerdict*> cases;
  for (CellVerdict& cell : verdict.cells) cases[cell.id] = &cell;
  const auto case_of = [&](const JsonKeys& row) -> CellVerdict& {
    const auto found = cases.find(row.text("case"));
    if (found == cases.end()) row.fail("case", fmt::format("'{}' is not a case of this verdict", row.text("case")));
    return *found->second;
  };
  const auto read = [](const JsonKeys& row, auto& value) {
    KeyReader reader(row);
    list_keys(value, reader);
  };
  for (const JsonKeys& row : keys.objects("claims")) {
    CheckResult check;
    read(row, check);
    if (row.has_value("case")) {
      case_of(row).checks.push_back(std::move(check));
      continue;
    }
    const auto found = std::ranges::find(verdict.references, row.text("reference"), &ReferenceVerdict::id);
    if (found == verdict.references.end()) row.fail("reference", "is not a reference of this verdict");
    found->checks.push_back(std::move(check));
  }
  for (const JsonKeys& row : keys.objects("findings")) {
    CellVerdict& cell = case_of(row);
    Finding finding;
    read(row, finding);
    finding.claim = row.text("claim");
    if (row.flag("first")) cell.first_divergence = finding;
    const auto check = std::ranges::find(cell.checks, finding.claim, &CheckResult::name);
    if (check == cell.checks.end()) row.fail("claim", fmt::format("'{}' is no claim of its case", finding.claim));
    check->first_divergence = std::move(finding);
  }
  for (const JsonKeys& row : keys.objects("excuses")) read(row, case_of(row).not_recorded.emplace_back());
}

/// `holds` follows from what it sums up.
void refuse_contradiction(const JsonKeys& keys, const Verdict& verdict) {
  for (const CellVerdict& cell : verdict.cells) {
    const auto blocking = std::ranges::find_if(cell.checks, is_blocking);
    if (cell.holds && blocking != cell.checks.end())
      keys.fail("cases", fmt::format("{} holds, but its required check {} does not", cell.id, blocking->name));
    if (verdict.holds && !cell.holds) keys.fail("holds", fmt::format("is true, but {} does not hold", cell.id));
  }
}

}  // namespace

std::string to_text(Outcome outcome) {
  return name_of(outcome);
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
  Lists lists;
  for (const ReferenceVerdict& reference : verdict.references) lists.add(reference);
  for (const CellVerdict& cell : verdict.cells) lists.add(cell);
  lists.write(keys.json);
  return std::move(keys.json);
}

void write_verdict(const std::filesystem::path& path, const Verdict& verdict) {
  write_json(path, to_json(verdict));
}

Verdict read_verdict(const std::filesystem::path& path) {
  const Json json = read_json(path);
  const JsonKeys keys(path, json);
  if (keys.text("schema") != verdict_schema)
    keys.fail("schema",
              fmt::format("'{}' is not read by this version; it reads {}", keys.text("schema"), verdict_schema));
  Verdict verdict;
  KeyReader reader(keys);
  list_keys(verdict, reader);
  read_lists(keys, verdict);
  refuse_contradiction(keys, verdict);
  return verdict;
}

}  // namespace plumbline
