// SPDX-License-Identifier: BSD-3-Clause
#include "tests/harness/judge/long_run.hpp"

#include <fstream>
#include <sstream>
#include <vector>

#include "harness/judge/predicates/forms.hpp"
#include "record/manifest.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/json.hpp"
#include "support/numbers.hpp"
#include "support/text.hpp"
#include "tests/split.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;

/// Cells of a line without quotes.
std::vector<std::string> cells_in(const std::string& line) {
  return split(line + ",", ',');
}

/// Returns the digest of the column data_digest, if the table has it.
std::string repeat_rows(const fs::path& table, std::int64_t steps, const predicates::LearningRateForm& rates,
                        std::int64_t& rows) {
  std::istringstream lines(read_file(table));
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> header = cells_in(line);
  std::vector<std::vector<std::string>> of_two_steps;
  for (; std::getline(lines, line); ++rows)
    if (line.front() == '0' || line.front() == '1') of_two_steps.push_back(cells_in(line));
  if (header.front() != "step") return "";
  Hasher digest;
  std::ofstream out(table, std::ios::app);
  for (std::int64_t first = 0; first < steps; first += 2) {
    for (std::vector<std::string> row : of_two_steps) {
      const std::int64_t step = first + row.front().front() - '0';
      row.front() = std::to_string(step);
      for (std::size_t i = 1; i < row.size(); ++i) {
        if (header[i] == "learning_rate") row[i] = to_text(rates.at(step));
        if (header[i] == "start_ns" || header[i] == "end_ns")
          row[i] = std::to_string(std::stoll(row[i]) + first * 1'000'000);
        if (header[i] == "data_digest") digest.update(row[i]);
      }
      if (first == 0) continue;
      out << join(row, ",") << "\n";
      ++rows;
    }
  }
  return digest.hex();
}

}  // namespace

std::int64_t repeat_steps(const fs::path& record, std::int64_t steps) {
  Json manifest = read_json(record / "manifest.json");
  manifest["steps"] = manifest["learning_rate_schedule"]["total_steps"] = steps;
  write_json(record / "manifest.json", manifest);
  const auto rates = predicates::learning_rate_form(read_manifest(record)).value();
  std::int64_t rows = 0;
  for (const auto& rank : fs::directory_iterator(record)) {
    if (!rank.is_directory()) continue;
    for (const auto& file : fs::directory_iterator(rank)) {
      if (file.path().extension() != ".csv") continue;
      const std::string digest = repeat_rows(file, steps, rates, rows);
      if (file.path().filename() != "microbatches.csv") continue;
      Json exit = read_json(rank.path() / "exit.json");
      exit["data_digest"] = digest;
      write_json(rank.path() / "exit.json", exit);
    }
  }
  return rows;
}

}  // namespace plumbline::testing
