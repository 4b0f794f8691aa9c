#include "reports/report.hpp"

#include "reports/evidence.hpp"
#include "reports/gnuplot.hpp"
#include "reports/junit.hpp"
#include "reports/page.hpp"
#include "reports/results_csv.hpp"
#include "support/files.hpp"

namespace plumbline {

void write_reports(const std::filesystem::path& folder) {
  const Verdict verdict = read_verdict(folder / "verdict.json");
  write_file(folder / "junit.xml", junit_xml(verdict));
  write_file(folder / "results.csv", results_csv(verdict));
  const Evidence evidence = gather_evidence(folder, verdict);
  Gnuplot gnuplot;
  write_file(folder / "report.html", make_page(verdict, evidence, gnuplot));
}

}  // namespace plumbline
