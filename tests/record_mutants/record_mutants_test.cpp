// SPDX-License-Identifier: BSD-3-Clause
// After a change of one cell, row, key or byte of a correct record, a check must fail and name the place, unless
// not-judged.md lists the change.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

#include "harness/commands/compare.hpp"
#include "harness/judge/judge.hpp"
#include "record/rank_folder.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/numbers.hpp"
#include "tests/paths.hpp"
#include "tests/record_mutants/mutants.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::IsEmpty;

const std::filesystem::path tree = std::filesystem::path(source_path());

/// A line of the table in not-judged.md: `| record | place | change | why |`; commas separate several places or
/// changes.
struct NotJudged {
  std::string record, place, change;

  bool covers(const std::string& of_record, const Mutant& mutant) const {
    const auto fits = [](const std::string& pattern, const std::string& text) {
      return pattern == "any" || pattern == text ||
             (pattern.ends_with('*') && text.starts_with(pattern.substr(0, pattern.size() - 1)));
    };
    return fits(record, of_record) && fits(place, mutant.place) && fits(change, mutant.change);
  }
};

/// The parts of a cell that commas separate.
std::vector<std::string> listed(const std::string& cell) {
  std::vector<std::string> parts;
  std::istringstream text(cell);
  for (std::string part; std::getline(text, part, ',');) parts.push_back(part.substr(part.find_first_not_of(' ')));
  return parts;
}

std::vector<NotJudged> not_judged() {
  std::istringstream text(read_file(tree / "tests" / "record_mutants" / "not-judged.md"));
  std::vector<NotJudged> all;
  for (std::string line; std::getline(text, line);) {
    if (!line.starts_with("| ") || line.starts_with("| record |")) continue;
    std::vector<std::string> cells;
    std::istringstream row(line.substr(2));
    for (std::string cell; std::getline(row, cell, '|');) {
      std::erase(cell, '`');
      const auto first = cell.find_first_not_of(' ');
      cells.push_back(first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(' ') + 1 - first));
    }
    if (cells.size() < 4) continue;
    for (const std::string& place : listed(cells[1]))
      for (const std::string& change : listed(cells[2])) all.push_back({cells[0], place, change});
  }
  return all;
}

enum class Side { reference, candidate };

struct Pair {
  const char* name;       ///< which record is changed, for the list
  const char* reference;  ///< folders of tests/frozen_records
  const char* candidate;
  Side changed;
  bool external;
};

void PrintTo(const Pair& pair, std::ostream* out) {
  *out << pair.name;
}

/// Adds evaluations after each step, equal in both records of a pair.
void add_evaluations(const std::filesystem::path& record) {
  Json manifest = read_json(record / "manifest.json");
  manifest["evaluation"] = {{"every", 1}, {"microbatches", 2}, {"source", "validation.txt"}};
  std::ofstream(record / "manifest.json", std::ios::binary | std::ios::trunc) << manifest.dump(2) << "\n";
  std::string rows = "step,microbatch,tokens,valid_tokens,loss,data_digest\n";
  for (std::int64_t step = 0; step < manifest.at("steps").get<std::int64_t>(); ++step) {
    const std::string number = to_text(step);
    rows += number + ",0,7,7,1.5," + std::string(32, 'a') + "\n";
    rows += number + ",1,3,2,0.25," + std::string(32, 'b') + "\n";
    rows += number + ",,10,9,1.75,\n";
  }
  const std::int64_t owner = manifest.at("stages").back().at("rank").get<std::int64_t>();
  std::ofstream(record / rank_folder(owner) / "evaluation.csv", std::ios::binary) << rows;
}

/// Adds a column whose cells `make` computes from those of another column.
template <typename Make>
void add_column(const std::filesystem::path& file, const std::string& name, const std::string& from, const Make& make) {
  CsvTable table = read_csv(file);
  const std::size_t source = table.column(from);
  table.header.emplace_back(name);
  std::string bytes = csv_line(table.header);
  for (CsvRow& row : table.rows) {
    row.cells.push_back(make(row.cells[source]));
    bytes += csv_line(row.cells);
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << bytes;
}

/// Copies a frozen record and adds the columns and tables that our records have gained since.
void take_record(const std::string& name, const std::filesystem::path& to) {
  std::filesystem::copy(tree / "tests" / "frozen_records" / name, to, std::filesystem::copy_options::recursive);
  if (name.starts_with("external")) return;
  add_evaluations(to);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(to)) {
    if (entry.path().filename() == "steps.csv") {
      add_column(entry.path(), "recording_seconds", "seconds",
                 [](const std::string& seconds) { return to_text(parse_double(seconds).value() / 2); });
    }
  }
}

class RecordMutants : public ::testing::TestWithParam<Pair> {
 protected:
  void SetUp() override {
    take_record(GetParam().reference, folder_ / "reference");
    take_record(GetParam().candidate, folder_ / "candidate");
  }

  std::filesystem::path changed() const {
    return folder_ / (GetParam().changed == Side::reference ? "reference" : "candidate");
  }

  CellVerdict judge() const {
    if (GetParam().external) return compare_records(folder_ / "reference", folder_ / "candidate", std::nullopt);
    CellPlan plan;
    plan.id = "mutant";
    plan.clipping_must_act = true;
    return judge_cell(plan, folder_ / "reference", folder_ / "candidate");
  }

  /// Does not wait for the disk, since it runs thousands of times.
  static void put(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  CellVerdict judge(const Mutant& mutant) const {
    const auto path = changed() / mutant.file;
    const std::string before = read_file(path);
    put(path, mutant.bytes);
    try {
      CellVerdict verdict = judge();
      put(path, before);
      return verdict;
    } catch (...) {
      put(path, before);
      throw;
    }
  }

  TemporaryFolder folder_;
};

std::string words_of(const CheckResult& check) {
  return check.name + ": " + check.reason + (check.first_divergence ? " [" + check.first_divergence->item + "]" : "");
}

/// Whether a failed or incomplete check names the place.
bool names_the_place(const CellVerdict& verdict, const Mutant& mutant) {
  return std::any_of(verdict.checks.begin(), verdict.checks.end(), [&](const CheckResult& check) {
    if (check.outcome == Outcome::holds || check.outcome == Outcome::does_not_apply) return false;
    const std::string words = words_of(check);
    return std::any_of(mutant.items.begin(), mutant.items.end(),
                       [&](const std::string& item) { return !item.empty() && words.find(item) != std::string::npos; });
  });
}

TEST_P(RecordMutants, EachFailsAtItsPlaceOrIsListedAsNotJudged) {
  const CellVerdict right = judge();
  ASSERT_TRUE(right.holds) << comparison_text(right);
  const std::vector<NotJudged> list = not_judged();
  const std::vector<Mutant> mutants = mutants_of(changed());
  ASSERT_GT(mutants.size(), 300U);
  std::set<std::string> survivors, elsewhere;
  std::size_t killed = 0;

  for (const Mutant& mutant : mutants) {
    const std::string id = mutant.file + ", " + mutant.place + ", " + mutant.change + ", " + mutant.where;
    std::optional<CellVerdict> verdict;
    try {
      verdict = judge(mutant);
    } catch (const InputError& error) {  // compare refuses what it cannot read: exit code 2
      ++killed;
      if (std::string(error.what()).find(mutant.file) == std::string::npos) elsewhere.insert(id + ": " + error.what());
      continue;
    }
    if (verdict->holds) {
      const bool listed =
          std::any_of(list.begin(), list.end(), [&](const auto& line) { return line.covers(GetParam().name, mutant); });
      if (!listed) survivors.insert(id);
      continue;
    }
    ++killed;
    if (!names_the_place(*verdict, mutant)) elsewhere.insert(id + ": " + comparison_text(*verdict));
  }

  EXPECT_THAT(survivors, IsEmpty()) << survivors.size() << " of " << mutants.size()
                                    << " pass and are not in tests/record_mutants/not-judged.md";
  EXPECT_THAT(elsewhere, IsEmpty()) << elsewhere.size() << " fail, but no check names the place";
  RecordProperty("mutants", static_cast<int>(mutants.size()));
  RecordProperty("killed", static_cast<int>(killed));
  std::cout << GetParam().name << ": " << mutants.size() << " mutants, " << killed << " red\n";
}

INSTANTIATE_TEST_SUITE_P(Ours, RecordMutants,
                         ::testing::Values(Pair{"pipeline", "reference", "pipeline", Side::candidate, false},
                                           Pair{"reference", "reference", "pipeline", Side::reference, false}),
                         [](const auto& pair) { return std::string(pair.param.name); });
INSTANTIATE_TEST_SUITE_P(Theirs, RecordMutants,
                         ::testing::Values(Pair{"external", "external-reference", "external", Side::candidate, true}),
                         [](const auto& pair) { return std::string(pair.param.name); });

/// Every line of not-judged.md must still match a mutant.
TEST(NotJudged, EachLineMatchesAMutant) {
  const std::vector<NotJudged> list = not_judged();
  ASSERT_FALSE(list.empty());
  const TemporaryFolder folder;
  std::map<std::string, std::vector<Mutant>> mutants;
  for (const char* record : {"pipeline", "reference", "external"}) {
    take_record(record, folder / record);
    mutants[record] = mutants_of(folder / record);
  }
  for (const NotJudged& line : list) {
    const bool needed = std::ranges::any_of(mutants, [&](const auto& of_record) {
      return std::ranges::any_of(of_record.second,
                                 [&](const Mutant& mutant) { return line.covers(of_record.first, mutant); });
    });
    EXPECT_TRUE(needed) << line.record << ", " << line.place << ", " << line.change;
  }
}

}  // namespace
}  // namespace plumbline::testing
