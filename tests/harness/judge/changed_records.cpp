// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/judge/changed_records.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>

#include "harness/commands/compare.hpp"
#include "record/columns.hpp"
#include "record/digest.hpp"
#include "schedule/lowering.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"
#include "tests/approved.hpp"
#include "tests/changed_json.hpp"
#include "tests/harness/judge/sample_cells.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

Words words_of_line(const std::string& line) {
  std::istringstream stream(line);
  Words words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

struct CsvFile {
  explicit CsvFile(fs::path of) : path(std::move(of)) {
    std::istringstream lines(read_file(path));
    for (std::string line; std::getline(lines, line);) rows.push_back(split(line + ",", ','));
  }
  void write() const {
    std::string text;
    for (const Words& row : rows) text += join(row, ",") + "\n";
    write_file(path, text);
  }
  static Words split(const std::string& line, char at) {
    Words cells;
    std::istringstream stream(line);
    for (std::string cell; std::getline(stream, cell, at);) cells.push_back(cell);
    return cells;
  }
  /// The column's index; adds a missing column.
  std::size_t column(const std::string& name) {
    const auto at = std::ranges::find(rows[0], name) - rows[0].begin();
    if (at == std::ssize(rows[0]))
      for (Words& row : rows) row.push_back(&row == &rows[0] ? name : "");
    return static_cast<std::size_t>(at);
  }

  fs::path path;
  std::vector<Words> rows;  ///< first the header
};

/// "column=one|other", "column=beginning*", "column!=value".
bool fits(CsvFile& file, const Words& row, const std::string& condition) {
  const auto equal = condition.find('=');
  const bool inverted = condition[equal - 1] == '!';
  const std::string& cell = row[file.column(condition.substr(0, equal - (inverted ? 1 : 0)))];
  const Words values = CsvFile::split(condition.substr(equal + 1) + "|", '|');
  return inverted != std::ranges::any_of(values, [&](const std::string& value) {
           return value.ends_with('*') ? cell.starts_with(value.substr(0, value.size() - 1)) : cell == value;
         });
}

/// Gives the row the digest of the row that differs from it only in the columns of "column=value".
void copy_bits(CsvFile& file, Words& row, const std::string& difference) {
  const std::size_t equal = difference.find('='), other = file.column(difference.substr(0, equal));
  for (const Words& each : file.rows) {
    Words key = row;
    key[other] = difference.substr(equal + 1);
    if (std::ranges::all_of(std::array{"step", "kind", "name"},
                            [&](const char* name) { return each[file.column(name)] == key[file.column(name)]; }))
      row[file.column("digest")] = each[file.column("digest")];
  }
}

/// "like=step=0" copies the digest of another row; "column=value", "column+=number", "column*=number". Values: "other"
/// is a digest that no row has, "zeros" the digest of zeros, "rehashed" the hash of the digest.
void change_cell(CsvFile& file, Words& row, const std::string& change) {
  const auto equal = change.find('=');
  const char sign = change[equal - 1];
  const bool computes = sign == '+' || sign == '*', copies = change.starts_with("like=");
  const std::size_t column = file.column(copies ? "digest" : change.substr(0, equal - (computes ? 1 : 0)));
  row.resize(file.rows[0].size());
  std::string& cell = row[column];
  const std::string value = change.substr(equal + 1);
  if (copies) {
    copy_bits(file, row, value);
  } else if (computes) {
    const double before = std::stod(cell), by = std::stod(value);
    cell = to_text(sign == '+' ? before + by : before * by);
  } else if (value == "zeros") {
    const std::string dtype = row[file.column("dtype")];
    Shape shape;
    std::size_t bytes = dtype == "float32" ? 4 : 2;
    for (const auto& size : CsvFile::split(row[file.column("shape")], 'x')) shape.push_back(std::stoll(size));
    for (const auto size : shape) bytes *= static_cast<std::size_t>(size);
    cell = tensor_digest(dtype, shape, std::vector<std::byte>(bytes));
  } else {
    cell = value == "other" ? other_digest : value == "rehashed" ? hash_hex(cell) : value;
  }
}

/// "[rank-1/]table conditions: changes"; changes are those of cells, or "remove", "copy" (before changes to the copy),
/// and "to=rank-0".
std::size_t change_rows(const fs::path& record, const Words& words) {
  const auto colon = std::ranges::find_if(words, [](const auto& word) { return word.ends_with(':'); });
  Words conditions(words.begin(), colon + 1);
  conditions.back().pop_back();
  const Words changes(colon + 1, words.end());
  const std::string table = conditions.front().substr(conditions.front().find('/') + 1) + ".csv";
  conditions.erase(conditions.begin());
  std::size_t changed = 0;
  for (int rank = 0; fs::exists(record / ("rank-" + std::to_string(rank))); ++rank) {
    const std::string folder = "rank-" + std::to_string(rank);
    if (words.front().starts_with("rank-") && !words.front().starts_with(folder + "/")) continue;
    if (!fs::exists(record / folder / table)) continue;
    CsvFile file(record / folder / table);
    std::vector<Words> kept = {file.rows[0]};
    for (const Words& row : std::vector<Words>(file.rows.begin() + 1, file.rows.end())) {
      kept.push_back(row);
      if (!std::ranges::all_of(conditions, [&](const auto& condition) { return fits(file, row, condition); })) continue;
      ++changed;
      if (changes.front() == "remove") {
        kept.pop_back();
        continue;
      }
      if (changes.front() == "copy") kept.push_back(row);
      Words& now = kept.back();
      for (const auto& change : changes) {
        if (change == "copy" || change.starts_with("to=")) continue;
        change_cell(file, now, change);
      }
      if (!changes.back().starts_with("to=")) continue;
      CsvFile other(record / changes.back().substr(3) / table);
      const auto later = std::ranges::find_if(other.rows.begin() + 1, other.rows.end(), [&](const Words& each) {
        return std::stoll(each.front()) > std::stoll(now.front());
      });
      other.rows.insert(later, now);
      other.write();
      kept.pop_back();
    }
    kept[0] = file.rows[0];
    for (Words& row : kept) row.resize(kept[0].size());
    file.rows = kept;
    file.write();
  }
  return changed;
}

void change_json(const fs::path& file, const std::string& change) {
  Json json = read_json(file);
  if (change == "digests") {
    std::string digests;
    CsvFile rows(file.parent_path() / "microbatches.csv");
    const std::size_t column = rows.column("data_digest");
    for (std::size_t row = 1; row < rows.rows.size(); ++row) digests += rows.rows[row][column];
    json["data_digest"] = digests.empty() ? Json(nullptr) : Json(hash_hex(digests));
  } else {
    json = changed(json, change);
  }
  write_json(file, json);
}

/// "schedule none", "schedule afab 2 4", "schedule 1f1b 2 5 messages", "schedule 0F0,0B0/1F0,1B0": also updates the
/// manifest's digest.
void change_schedule(const fs::path& record, const Words& words) {
  std::string csv;
  if (words.size() > 3) {
    const Schedule list = make_schedule(words[1], std::stoi(words[2]), std::stoi(words[3]));
    csv = to_csv(words.size() > 4 ? lower(list, true) : list);
  } else if (words[1] != "none") {
    csv = words[1] + "\n";
    std::ranges::replace(csv, '/', '\n');
  }
  fs::remove(record / "schedule.csv");
  if (!csv.empty()) write_file(record / "schedule.csv", csv);
  change_json(record / "manifest.json", "/schedule/digest " + (csv.empty() ? "null" : '"' + hash_hex(csv) + '"'));
}

void change_record(const fs::path& record, const std::string& line) {
  const Words words = words_of_line(line);
  const std::string rest = line.substr(std::min(line.size(), words.front().size() + 1));
  if (words.front().starts_with("replica-")) {
    change_record(record / words.front(), rest);
  } else if (words.front() == "fed_like") {
    for (int rank = 0; fs::exists(record / ("rank-" + std::to_string(rank))); ++rank) {
      const std::string file = "rank-" + std::to_string(rank) + "/microbatches.csv";
      write_file(record / file, read_file(record.parent_path() / words.at(1) / file));
    }
    change_record(record, "digests");
  } else if (words.front() == "remove") {
    EXPECT_GT(fs::remove_all(record / words.at(1)), 0U) << line;
  } else if (words.front() == "schedule") {
    change_schedule(record, words);
  } else if (words.front() == "digests") {
    for (int rank = 0; fs::exists(record / ("rank-" + std::to_string(rank))); ++rank)
      change_json(record / ("rank-" + std::to_string(rank)) / "exit.json", "digests");
  } else if (words.front().ends_with(".json")) {
    change_json(record / words.front(), rest);
  } else {
    EXPECT_GT(change_rows(record, words), 0U) << "no such row: " << line;
  }
}

LaunchFinding launch_of(const Json& json) {
  Json whole = to_json(LaunchFinding{});
  whole.update(json);
  const TemporaryFolder folder;
  write_json(folder / "finding.json", whole);
  return read_launch_finding(folder / "finding.json");
}

void change_plan(CellPlan& plan, const Json& json) {
  for (const auto& [key, value] : json.items()) {
    if (key == "checks")
      plan.checks = value.get<Words>();
    else if (key == "accept_missing")
      plan.accept_missing = value.get<Words>();
    else if (key == "clipping")
      plan.clipping_must_act = value.get<bool>();
    else if (key == "bench")
      plan.bench = value.get<bool>();
    else if (key == "repeat")
      plan.repeat = value.get<bool>();
    else if (key == "lengths")
      plan.lengths = value.get<std::vector<std::int64_t>>();
    else if (key == "schedule")
      plan.schedule = value.get<std::string>();
    else if (key == "schedule_csv")
      plan.schedule_csv = value.get<std::string>();
    else if (key == "launch")
      plan.launch = launch_of(value);
    else if (key == "reference_launch")
      plan.reference_launch = launch_of(value);
    else if (key == "repeat_launch")
      plan.repeat_launch = launch_of(value);
    else
      ADD_FAILURE() << "no such setting of a case: " << key;
  }
}

/// Replaces "./" by `folder` in paths.
void change_request(std::optional<Request>& request, std::string change, const fs::path& folder) {
  if (const auto at = change.find("\"./"); at != std::string::npos) change.replace(at + 1, 1, folder.string());
  if (!request) request.emplace();
  request = request_from_json(changed(to_json(*request), change), "request.json");
}

/// A check's result as lines; with `figures`, all of its numbers.
std::string text_of(const CheckResult& check, bool figures) {
  const bool optional = check.outcome == Outcome::incomplete && !check.required;
  std::string text = to_text(check.outcome) + (optional ? " (not required): " : ": ") + reason_words(check);
  for (const auto& gap : check.not_shown) text += "\n  not shown: " + gap;
  if (check.outcome == Outcome::holds && !check.compared.empty())
    text += "\n  compared: " + Json(check.compared).dump();
  if (figures && !check.inspected.empty()) text += "\n  inspected: " + Json(check.inspected).dump();
  if (figures && !check.evidence.empty()) text += "\n  evidence: " + Json(check.evidence).dump();
  if (figures && !check.predicted_peak_bytes.empty())
    text += "\n  predicted peaks: " + Json(check.predicted_peak_bytes).dump();
  if (check.outcome == Outcome::holds && check.margin) text += "\n  margin " + to_text(*check.margin);
  return text;
}

std::string place_of(const Finding& finding) {
  std::string text = finding.level + " step=" + std::to_string(finding.step);
  const auto add = [&](const char* name, const auto& value) {
    if (value) text += std::string(" ") + name + "=" + std::to_string(*value);
  };
  add("microbatch", finding.microbatch);
  add("stage", finding.stage);
  add("rank", finding.rank);
  add("replica", finding.replica);
  if (!finding.direction.empty()) text += " " + finding.direction;
  text += " item=" + finding.item;
  if (finding.words.find(finding.got) == std::string::npos)
    text += " expected=" + finding.expected + " got=" + finding.got;
  return text;
}

CellVerdict judge_files(const SampleCell& cell) {
  std::optional<fs::path> again;
  if (cell.repeated || !cell.again.empty()) again = cell.folder / "repeated";
  return judge_cell(cell.plan, cell.folder / "reference", cell.folder / "candidate", again);
}

/// The result of each check for unchanged records.
const Words& unchanged(const std::string& start) {
  static std::map<std::string, Words> all;
  Words& texts = all[start];
  if (texts.empty()) {
    const auto cell = sample_cell(start);
    write_files(*cell);
    for (const auto& check : judge_files(*cell).checks) texts.push_back(text_of(check, false));
  }
  return texts;
}

}  // namespace

std::string verdict_of_changes(const std::string& changes) {
  static const std::set<std::string> known = {
      "again", "b", "c", "plan", "r", "replay", "reference_request", "report", "request", "requests", "start"};
  std::istringstream lines(changes);
  std::string line, start = "start";
  std::vector<std::string> all;
  while (std::getline(lines, line)) (line.starts_with("start ") ? start : all.emplace_back()) = line;
  const auto cell = sample_cell(start);
  write_files(*cell);
  for (const auto& change : all) {
    const auto space = change.find(' ');
    const std::string what = change.substr(0, space), rest = change.substr(space + 1);
    EXPECT_TRUE(known.contains(what)) << "no such line in a case: " << change;
    if (what == "replay") {
      const std::string norms = read_file(cell->folder / "candidate/rank-0/norms.csv");
      change_json(cell->folder / "reference/manifest.json", "/norms_from/digest \"" + hash_hex(norms) + '"');
    }
    if (what == "plan") change_plan(cell->plan, Json::parse(rest));
    if (what == "request" || what == "requests") change_request(cell->plan.request, rest, cell->folder.path());
    if (what == "reference_request" || what == "requests")
      change_request(cell->plan.reference_request, rest, cell->folder.path());
    if (what == "r" || what == "b") change_record(cell->folder / "reference", rest);
    if (what == "c" || what == "b") change_record(cell->folder / "candidate", rest);
    if (what == "again") change_record(cell->folder / "repeated", rest);
  }
  CellVerdict verdict;
  try {
    verdict = judge_files(*cell);
  } catch (const InputError& error) {
    return in_folder(cell->folder, error.what());
  }
  std::string text = verdict.holds ? "holds" : verdict.incomplete() ? "incomplete" : "does not hold";
  if (verdict.first_divergence) text += ", first " + place_of(*verdict.first_divergence);
  if (std::ranges::find(all, "report") != all.end()) text = comparison_text(verdict) + text;
  const bool figures = all.empty();                  // for unchanged records
  std::map<std::string, std::string> names_by_text;  // names of checks by their text
  Words order;
  for (std::size_t i = 0; i < verdict.checks.size(); ++i) {
    const std::string answer = text_of(verdict.checks[i], figures);
    if (!figures && answer == unchanged(start).at(i)) continue;
    std::string& names = names_by_text[answer];
    if (names.empty()) order.push_back(answer);
    names += (names.empty() ? "" : ", ") + verdict.checks[i].name;
  }
  const std::string words = verdict.first_divergence.value_or(Finding{}).words;
  if (verdict.first_divergence &&
      std::ranges::none_of(order, [&](const auto& answer) { return answer.find(words) != std::string::npos; }))
    text += "\n" + words;
  for (const auto& answer : order) text += "\n" + names_by_text.at(answer) + " " + answer;
  return in_folder(cell->folder, text);
}

}  // namespace plumbline::testing
