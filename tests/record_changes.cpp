// SPDX-License-Identifier: BSD-3-Clause
#include "tests/record_changes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "record/digest.hpp"
#include "schedule/lowering.hpp"
#include "schedule/schedule.hpp"
#include "schedule/schedule_csv.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"
#include "tests/changed_json.hpp"
#include "tests/split.hpp"

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

/// With line breaks in place of \\n and \\r.
std::string unescaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('\\', at)) != std::string::npos; ++at)
    if (text.substr(at, 2) == "\\n" || text.substr(at, 2) == "\\r")
      text.replace(at, 2, text[at + 1] == 'n' ? "\n" : "\r");
  return text;
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
  const Words values = split(condition.substr(equal + 1) + "|", '|');
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
  const std::string value = unescaped(change.substr(equal + 1));
  if (copies) {
    copy_bits(file, row, value);
  } else if (computes) {
    const double before = std::stod(cell), by = std::stod(value);
    cell = to_text(sign == '+' ? before + by : before * by);
  } else if (value == "zeros") {
    const std::string dtype = row[file.column("dtype")];
    Shape shape;
    std::size_t bytes = dtype == "float32" ? 4 : 2;
    for (const auto& size : split(row[file.column("shape")], 'x')) shape.push_back(std::stoll(size));
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

/// Without a text, the path is that of a folder.
void write(const fs::path& path, const std::string& text) {
  if (text.empty()) return make_folder(path);
  make_folder(path.parent_path());
  write_file(path, unescaped(text));
}

void remove_column(const fs::path& path, const std::string& name) {
  CsvFile file(path);
  const auto at = static_cast<std::ptrdiff_t>(file.column(name));
  for (Words& row : file.rows) row.erase(row.begin() + at);
  file.write();
}

}  // namespace

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
  } else if (words.front() == "write") {
    write(record / words.at(1), rest.substr(words[1].size() + std::min<std::size_t>(words.size() - 2, 1)));
  } else if (words.front() == "cut") {
    fs::resize_file(record / words.at(1), fs::file_size(record / words[1]) - std::stoul(words.at(2)));
  } else if (words.front() == "without") {
    remove_column(record / words.at(1), words.at(2));
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

}  // namespace plumbline::testing
