#include "tests/mutant/kill_page.hpp"

#include <algorithm>

#include "reports/markup.hpp"
#include "support/files.hpp"

namespace plumbline::mutant {
namespace {

/// Those that were red or were to be, in the order in which they were first met.
std::vector<std::string> checks_of(const std::vector<Trial>& trials) {
  std::vector<std::string> checks;
  const auto note = [&](const std::string& check) {
    if (!check.empty() && std::ranges::find(checks, check) == checks.end()) checks.push_back(check);
  };
  for (const Trial& trial : trials) note(trial.expected);
  for (const Trial& trial : trials) std::ranges::for_each(trial.red, note);
  return checks;
}

std::string cell(const std::string& text, const std::string& kind = "") {
  std::string html = kind.empty() ? "<td>" : "<td class=\"" + kind + "\">";
  return html.append(xml_escape(text)).append("</td>");
}

std::string row(const Trial& trial, const std::vector<std::string>& checks) {
  const bool wrong = trial.harmless() ? !trial.red.empty() : !trial.killed();
  std::string html = wrong ? "<tr class=\"survives\">" : "<tr>";
  html +=
      cell(trial.name) + cell(trial.fault) + cell(trial.run) + cell(trial.schedule) + cell(std::to_string(trial.world));
  for (const std::string& check : checks) {
    const bool red = std::ranges::find(trial.red, check) != trial.red.end();
    html += cell(red ? "kills" : "", check == trial.expected ? "expected" : "");
  }
  html += cell(!trial.place_asked ? "" : trial.place_right ? "right" : "WRONG") + cell(trial.first);
  return html + "</tr>\n";
}

}  // namespace

std::string kill_page(const std::vector<Trial>& trials) {
  const std::vector<std::string> checks = checks_of(trials);
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Kill matrix</title>\n<style>"
      "body{font:14px/1.4 sans-serif;margin:2em}table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:2px "
      "6px;text-align:left}th{position:sticky;top:0;background:#eee}.expected{background:#dfd}.survives "
      "td{background:#fbb}</style></head>\n<body><h1>Kill matrix</h1>\n<p>";
  html += xml_escape(kill_summary(trials)) +
          "</p>\n<p>A row is a planted fault, green the check that is to find it; a red row survives, or is a false "
          "alarm.</p>\n<table><tr><th>mutant</th><th>fault</th><th>run</th><th>schedule</th><th>ranks</th>";
  for (const std::string& check : checks) html += "<th>" + xml_escape(check) + "</th>";
  html += "<th>place</th><th>first divergence</th></tr>\n";
  for (const Trial& trial : trials) html += row(trial, checks);
  return html + "</table></body></html>\n";
}

void write_kill_page(const std::filesystem::path& file, const std::vector<Trial>& trials) {
  write_file(file, kill_page(trials));
}

}  // namespace plumbline::mutant
