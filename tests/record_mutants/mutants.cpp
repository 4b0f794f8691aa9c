// SPDX-License-Identifier: BSD-3-Clause
#include "tests/record_mutants/mutants.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "schedule/action.hpp"
#include "support/csv.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/numbers.hpp"

namespace plumbline::testing {
namespace {

const std::map<std::string, std::string> other_word{
    {"gradient", "parameter"}, {"parameter", "moment1"}, {"moment1", "moment2"}, {"moment2", "gradient"},
    {"forward", "backward"},   {"backward", "forward"},  {"send", "receive"},    {"receive", "send"},
    {"local", "send"},         {"computed", "send"},     {"float32", "float64"}, {"float64", "float32"},
    {"bfloat16", "float32"},   {"true", "false"},        {"false", "true"}};

bool is_hex(const std::string& text) {
  return text.size() == 32 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

bool is_shape(const std::string& text) {
  return text.find('x') != std::string::npos && text.find_first_not_of("0123456789x") == std::string::npos;
}

/// The smallest change of a value.
std::string small_change(const std::string& column, const std::string& text) {
  if (const auto word = other_word.find(text); word != other_word.end()) return word->second;
  if (is_hex(text)) return (text[0] == 'a' ? "b" : "a") + text.substr(1);
  if (is_shape(text)) return text.substr(0, text.rfind('x') + 1) + "1" + text.substr(text.rfind('x') + 1);
  if (const auto whole = parse_integer(text); whole && column != "l2" && column != "max_abs")
    return to_text(*whole + 1);
  const bool narrow = column == "loss" || column == "max_abs";
  if (const auto number = parse_float(text); number && narrow) return to_text(std::nextafter(*number, 1e30F));
  if (const auto number = parse_double(text)) {
    // l2 may be summed in any order, so its last digits may differ
    return column == "l2" ? to_text(*number * (1 + 1e-9) + 1e-300) : to_text(std::nextafter(*number, 1e300));
  }
  if (text.empty()) return "1";
  return column == "action" ? text.substr(0, text.size() - 1) + (text.back() == '1' ? "2" : "1") : text + "x";
}

/// A value beyond any limit.
std::optional<std::string> large_change(const std::string& text) {
  if (const auto whole = parse_integer(text)) return to_text(*whole * 1000 + 1'000'000'000'000);
  if (const auto number = parse_double(text)) return to_text(*number * 1000 + 1000);
  return std::nullopt;
}

/// NaN or infinity, for a column of floating-point numbers.
std::optional<std::string> not_finite(const std::string& column, const std::string& text, const std::string& value) {
  static const std::set<std::string> columns = {
      "loss", "gradient_norm", "clip_coefficient", "learning_rate", "seconds", "recording_seconds", "l2", "max_abs"};
  return columns.contains(column) && !text.empty() ? std::optional(value) : std::nullopt;
}

std::optional<std::string> negative_change(const std::string& text) {
  if (const auto whole = parse_integer(text)) return to_text(-*whole - 7);
  if (const auto number = parse_double(text)) return to_text(-*number - 7);
  return std::nullopt;
}

/// Rows that represent their kind: the last of each kind.
std::vector<std::size_t> chosen_rows(const CsvTable& table) {
  std::map<std::string, std::size_t> last;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    std::string kind;
    for (const char* column : {"step", "kind", "direction", "side", "cut"})
      if (table.has(column)) kind += table.rows[i].cells[table.column(column)] + "/";
    if (table.has("action")) {
      for (const char letter : table.rows[i].cells[table.column("action")])
        if (std::isdigit(static_cast<unsigned char>(letter)) == 0) kind += letter;
    } else if (!table.has("kind") && table.has("microbatch") && !table.has("cut")) {
      kind += table.rows[i].cells[table.column("microbatch")] + "/";
    }
    last[kind] = i;
  }
  std::vector<std::size_t> rows;
  for (const auto& [kind, row] : last) rows.push_back(row);
  return rows;
}

std::string bytes_of_table(const CsvTable& table) {
  std::string bytes = csv_line(table.header);
  for (const CsvRow& row : table.rows) bytes += csv_line(row.cells);
  return bytes;
}

class TableMutants {
 public:
  TableMutants(const std::filesystem::path& folder, std::string file, std::vector<Mutant>& all)
      : table_(read_csv(folder / file)), file_(std::move(file)), name_(file_.substr(file_.find('/') + 1)), all_(all) {}

  void add() {
    for (const std::size_t row : chosen_rows(table_)) {
      for (std::size_t column = 0; column < table_.header.size(); ++column) cell(row, column);
      presence(row);
    }
    if (table_.has("step") && !table_.rows.empty()) {
      CsvTable changed = table_;
      changed.rows.push_back(changed.rows.back());
      std::string& step = changed.rows.back().cells[table_.column("step")];
      step = to_text(*parse_integer(step) + 1);
      put(changed, table_.rows.size() - 1, "rows", "row of a step that the run lacks");
    }
    for (const std::string& column : table_.header) {
      CsvTable changed = table_;
      const auto at = static_cast<std::ptrdiff_t>(table_.column(column));
      changed.header.erase(changed.header.begin() + at);
      for (CsvRow& row : changed.rows) row.cells.erase(row.cells.begin() + at);
      if (!table_.rows.empty()) put(changed, 0, column, "column removed");
    }
  }

 private:
  void cell(std::size_t row, std::size_t column) {
    const std::string &name = table_.header[column], &text = table_.rows[row].cells[column];
    const auto set = [&](const std::string& change, const std::optional<std::string>& value) {
      if (!value || *value == text) return;
      CsvTable changed = table_;
      changed.rows[row].cells[column] = *value;
      put(changed, row, name, change);
    };
    set("small", small_change(name, text));
    set("large", large_change(text));
    set("negative", negative_change(text));
    set("not a number", not_finite(name, text, "nan"));
    set("infinite", not_finite(name, text, "inf"));
    set("blank", "");
  }

  void presence(std::size_t row) {
    const auto at = static_cast<std::ptrdiff_t>(row);
    CsvTable doubled = table_;
    doubled.rows.insert(doubled.rows.begin() + at, table_.rows[row]);
    put(doubled, row, "rows", "row doubled");
    CsvTable removed = table_;
    removed.rows.erase(removed.rows.begin() + at);
    put(removed, row, "rows", "row removed");
    if (row + 1 == table_.rows.size()) return;
    CsvTable swapped = table_;
    std::swap(swapped.rows[row], swapped.rows[row + 1]);
    put(swapped, row, "rows", "rows swapped");
  }

  /// Distinguishes the meanings of a column that has several: " at norm", " of a message".
  std::string kind_of(std::size_t row, const std::string& column) const {
    const auto cell = [&](const char* name) { return table_.rows[row].cells[table_.column(name)]; };
    if (name_ == "boundaries.csv" && column == "digest" && cell("side") == "computed") return " at " + cell("cut");
    if (name_ != "actions.csv" || column != "peak_bytes") return "";
    const auto action = parse_action(cell("action"));
    return action && is_compute(action->type) ? " of a computation" : " of another action";
  }

  /// Names that a verdict may use for this row.
  std::vector<std::string> items_of(std::size_t row, const std::string& column) const {
    std::vector<std::string> items{file_, name_, column};
    for (const char* own : {"name", "cut", "action", "unit"})
      if (table_.has(own)) items.push_back(table_.rows[row].cells[table_.column(own)]);
    if (name_ == "microbatches.csv" || name_ == "boundaries.csv") items.push_back("microbatch ");
    if (name_ == "microbatches.csv" || name_ == "steps.csv") items.push_back("step ");
    if (name_ == "steps.csv") items.push_back(column == "learning_rate" ? "learning rate" : "loss");
    if (name_ == "traffic.csv") items.push_back("traffic ");
    if (name_ == "tensors.csv") items.push_back("parameters");
    return items;
  }

  void put(const CsvTable& changed, std::size_t row, const std::string& column, const std::string& change) {
    all_.push_back({file_, name_ + " " + column + kind_of(row, column), change,
                    "line " + std::to_string(table_.rows[row].line), bytes_of_table(changed), items_of(row, column)});
  }

  CsvTable table_;
  std::string file_, name_;
  std::vector<Mutant>& all_;
};

/// "stages[].units[]" of "/stages/1/units/0".
std::string key_of(const std::string& pointer) {
  std::string key;
  std::size_t at = 1;
  while (at <= pointer.size()) {
    const std::size_t end = std::min(pointer.find('/', at), pointer.size());
    const std::string part = pointer.substr(at, end - at);
    const bool index = part.find_first_not_of("0123456789") == std::string::npos;
    key += index ? "[]" : (key.empty() ? "" : ".") + part;
    at = end + 1;
  }
  return key;
}

class JsonMutants {
 public:
  JsonMutants(const std::filesystem::path& folder, std::string file, std::vector<Mutant>& all)
      : json_(read_json(folder / file)), file_(std::move(file)), name_(file_.substr(file_.find('/') + 1)), all_(all) {}

  void add() {
    const Json flat = json_.flatten();
    for (const auto& [pointer, value] : flat.items()) leaf(pointer, value);
    walk(json_, "");
  }

 private:
  void leaf(const std::string& pointer, const Json& value) {
    if (value.is_structured()) return;  // an empty list
    if (value.is_number_integer()) {
      set(pointer, "small", value.get<std::int64_t>() + 1);
      set(pointer, "large", value.get<std::int64_t>() * 1000 + 1'000'000);
      set(pointer, "negative", -value.get<std::int64_t>() - 7);
    } else if (value.is_number()) {
      set(pointer, "small", std::nextafter(value.get<double>(), 1e300));
      set(pointer, "negative", -value.get<double>() - 7);
    } else if (value.is_boolean()) {
      set(pointer, "small", !value.get<bool>());
    } else if (value.is_string()) {
      set(pointer, "small", small_change("", value.get<std::string>()));
      set(pointer, "blank", "");
    }
    if (!value.is_null()) set(pointer, "null", nullptr);
    if (value.is_null()) set(pointer, "small", 1);
  }

  /// Removes keys and elements, and duplicates elements.
  void walk(const Json& value, const std::string& pointer) {
    if (value.is_object()) {
      for (const auto& [key, inner] : value.items()) {
        Json changed = json_;
        changed[Json::json_pointer(pointer)].erase(key);
        put(changed, pointer + "/" + key, "key removed");
        walk(inner, pointer + "/" + key);
      }
    }
    if (!value.is_array()) return;
    for (std::size_t i = 0; i < value.size(); ++i) {
      Json fewer = json_, more = json_;
      fewer[Json::json_pointer(pointer)].erase(i);
      more[Json::json_pointer(pointer)].push_back(value[i]);
      put(fewer, pointer, "element removed");
      put(more, pointer, "element doubled");
      walk(value[i], pointer + "/" + std::to_string(i));
    }
  }

  void set(const std::string& pointer, const std::string& change, const Json& value) {
    Json changed = json_;
    changed[Json::json_pointer(pointer)] = value;
    put(changed, pointer, change);
  }

  void put(const Json& changed, const std::string& pointer, const std::string& change) {
    const std::string key = key_of(pointer);
    std::string last = key.substr(key.rfind('.') + 1);
    last = last.substr(0, last.find('['));
    if (key.starts_with("stages")) last = "stage";
    all_.push_back({file_, name_ + " " + key, change, pointer, changed.dump(2) + "\n", {file_, name_, last}});
  }

  Json json_;
  std::string file_, name_;
  std::vector<Mutant>& all_;
};

/// Removes the last byte, and in a list of actions swaps each two neighbors.
void add_bytes(const std::filesystem::path& folder, const std::string& file, std::vector<Mutant>& all) {
  const std::string bytes = read_file(folder / file), name = file.substr(file.find('/') + 1);
  all.push_back({file, name + " end", "last byte removed", "the end", bytes.substr(0, bytes.size() - 1), {file, name}});
  if (name != "schedule.csv") return;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(bytes[i])) == 0) continue;
    std::string changed = bytes;
    changed[i] = changed[i] == '0' ? '1' : '0';
    all.push_back({file, "schedule.csv cell", "small", "byte " + std::to_string(i), changed, {file}});
  }
}

}  // namespace

std::vector<Mutant> mutants_of(const std::filesystem::path& folder) {
  std::vector<Mutant> all;
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.insert(std::filesystem::relative(entry.path(), folder).generic_string());
  for (const std::string& file : files) {
    const bool list = file.ends_with("schedule.csv");
    if (file.ends_with(".csv") && !list) TableMutants(folder, file, all).add();
    if (file.ends_with(".json")) JsonMutants(folder, file, all).add();
    if (!file.ends_with(".json")) add_bytes(folder, file, all);
  }
  return all;
}

}  // namespace plumbline::testing
