#include "reports/report.hpp"

#include "reports/evidence.hpp"
#include "reports/junit.hpp"
#include "reports/page.hpp"
#include "reports/results_csv.hpp"
#include "support/files.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_output_bytes = 4096;

/// The end of a file, from the start of a line; empty where there is none.
std::string end_of(const fs::path& path) {
  std::error_code missing;
  if (!fs::is_regular_file(path, missing)) return "";
  std::string text = read_file(path);
  if (text.size() <= most_output_bytes) return text;
  const auto line = text.find('\n', text.size() - most_output_bytes);
  return "...\n" + text.substr(line == std::string::npos ? text.size() - most_output_bytes : line + 1);
}

ErrorOutput error_output(const fs::path& folder, const Verdict& verdict) {
  ErrorOutput ends;
  const auto take = [&](const std::string& launch) {
    const std::string end = end_of(folder / "launches" / launch / "stderr.txt");
    if (!end.empty()) ends[launch] = end;
  };
  for (const auto& reference : verdict.references) take("reference-" + reference.id);
  for (const auto& cell : verdict.cells) take(cell.id);
  return ends;
}

}  // namespace

void write_reports(const std::filesystem::path& folder) {
  const Verdict verdict = read_verdict(folder / "verdict.json");
  write_file(folder / "junit.xml", junit_xml(verdict, error_output(folder, verdict)));
  write_file(folder / "results.csv", results_csv(verdict));
  const Evidence evidence = gather_evidence(folder, verdict);
  write_file(folder / "report.html", make_page(verdict, evidence));
}

}  // namespace plumbline
