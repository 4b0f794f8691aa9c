#include "harness/history/history_page.hpp"

#include <cstdio>
#include <set>

#include "harness/history/series.hpp"
#include "harness/history/speed_plot.hpp"
#include "reports/markup.hpp"
#include "reports/plain_page.hpp"
#include "reports/words.hpp"

namespace plumbline {
namespace {

constexpr std::size_t most_points_listed = 60;  ///< of a series, the newest: all stand in the CSV

std::string number_cell(const std::optional<std::int64_t>& number) {
  return html_element("td", number ? grouped(*number) : "", " class=\"num\"");
}

std::string speed_cell(const std::optional<SpeedRatio>& speed) {
  char text[96] = "";
  if (speed && speed->low)
    std::snprintf(text, sizeof text, "%.3f [%.3f, %.3f]", speed->value, *speed->low, *speed->high);
  else if (speed)
    std::snprintf(text, sizeof text, "%.3f", speed->value);
  return html_element("td", text, " class=\"num\"");
}

std::string changes_table(const std::vector<HistoryChange>& changes) {
  if (changes.empty()) return "<p>No change was found.</p>\n";
  std::string html =
      "<div class=\"table\"><table class=\"changes\"><thead><tr><th scope=\"col\">when</th><th "
      "scope=\"col\">what</th><th "
      "scope=\"col\">commits</th><th scope=\"col\">sweep</th><th scope=\"col\">runs</th><th scope=\"col\">change"
      "</th></tr></thead><tbody>\n";
  for (const HistoryChange& change : changes) {
    std::string runs = change.runs.front();
    if (change.runs.size() > 1) runs += " and " + std::to_string(change.runs.size() - 1) + " more";
    html += "<tr>" + html_element("td", change.taken, " class=\"num\"") +
            html_element("td", to_text(change.kind), " class=\"kind\"");
    html += html_element("td", change.commit_before + ".." + change.commit_now) + html_element("td", change.sweep);
    html += html_element("td", runs) + html_element("td", change.words) + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string points_table(const RunSeries& series) {
  std::string html =
      "<div class=\"table\"><table><thead><tr><th scope=\"col\">when</th><th scope=\"col\">commit</th><th "
      "scope=\"col\">verdict</th><th scope=\"col\" class=\"num\">tokens/s over the reference's</th><th scope=\"col\" "
      "class=\"num\">rounds</th><th scope=\"col\" class=\"num\">state bytes</th><th scope=\"col\" "
      "class=\"num\">activation bytes</th><th scope=\"col\" class=\"num\">bytes sent</th><th scope=\"col\">bits"
      "</th></tr></thead><tbody>\n";
  const std::size_t count = series.rows.size();
  const std::size_t listed = std::min(count, most_points_listed);
  for (std::size_t i = 0; i < listed; ++i) {
    const HistoryRow& row = *series.rows[count - 1 - i];
    html += "<tr>" + html_element("td", row.taken) + html_element("td", row.commit) + html_element("td", row.verdict);
    html += speed_cell(row.speed) + number_cell(row.speed ? std::optional(row.speed->rounds) : std::nullopt);
    html += number_cell(row.state_bytes) + number_cell(row.activation_bytes) + number_cell(row.sent_bytes);
    html += "<td>" + html_element("code", row.bits.substr(0, 12)) + "</td></tr>\n";
  }
  html += "</tbody></table></div>\n";
  if (listed < count)
    html +=
        "<p class=\"soft\">The newest " + std::to_string(listed) + " of " + std::to_string(count) + " points.</p>\n";
  return html;
}

std::string series_section(const RunSeries& series) {
  const HistoryRow& last = series.last();
  std::string title = last.run + ": " + count_text(std::ssize(series.rows), "point") + ", " + last.verdict;
  if (!series.speed_changes.empty()) title += ", speed changed";
  const std::string svg = draw_speeds(series);
  const std::string figure = svg.empty() ? "" : "<figure>" + svg + "</figure>\n";
  const std::string points = "<details><summary>in numbers</summary>" + points_table(series) + "</details>\n";
  if (!series.speed_changes.empty()) return html_element("h3", title) + "\n" + figure + points;
  return "<details>" + html_element("summary", title) + "\n" + figure + points_table(series) + "</details>\n";
}

}  // namespace

std::string history_page(const History& history) {
  const auto series = series_of(history.rows);
  std::set<std::string> machines, commits;
  for (const HistoryRow& row : history.rows) {
    machines.insert(row.machine);
    if (!row.commit.empty()) commits.insert(row.commit);
  }
  std::string html = "<h1>History</h1>\n<p>" + count_text(std::ssize(history.rows), "row") + " of " +
                     count_text(std::ssize(commits), "commit") + " on " + count_text(std::ssize(machines), "machine");
  if (!history.rows.empty())
    html += ", from " + xml_escape(history.rows.front().taken) + " to " + xml_escape(history.rows.back().taken);
  html += ".</p>\n";
  for (const std::string& note : history.notes)
    html += html_element("p", "Note: " + note + ".", " class=\"kind\"") + "\n";
  html += "<h2>What changed</h2>\n" + changes_table(changes_of(series));
  html +=
      "<p class=\"soft\">Verdict, bits and bytes are compared exactly, bits on the same code path only. A change of "
      "speed "
      "is one that a permutation test finds, on one machine; its date is that of the first point at the new "
      "level.</p>\n";
  std::string place;
  for (const RunSeries& each : series) {
    const HistoryRow& last = each.last();
    const std::string now =
        last.source + " " + last.sweep + " on " + last.machine_name + " (machine " + last.machine + ")";
    if (now != place) html += html_element("h2", now) + "\n";
    place = now;
    html += series_section(each);
  }
  return plain_page("History", html);
}

}  // namespace plumbline
