#include "harness/history/history_text.hpp"

#include <cstdio>
#include <set>

#include "reports/words.hpp"

namespace plumbline {
namespace {

std::string speed_of_row(const HistoryRow& row) {
  if (!row.speed) return "";
  char text[96];
  if (row.speed->low)
    std::snprintf(text, sizeof text, "%.3f [%.3f, %.3f], %lld rounds", row.speed->value, *row.speed->low,
                  *row.speed->high, static_cast<long long>(row.speed->rounds));
  else
    std::snprintf(text, sizeof text, "%.3f", row.speed->value);
  return text;
}

std::string change_line(const HistoryChange& change) {
  std::string line = change.taken + "  " + to_text(change.kind) + "  " + change.sweep + ": ";
  line += change.runs.front();
  if (change.runs.size() > 1)
    line += " and " + std::to_string(change.runs.size() - 1) + (change.runs.size() == 2 ? " other" : " others");
  line += ": " + change.words;
  if (!change.commit_now.empty() || !change.commit_before.empty())
    line += "; commits " + change.commit_before + ".." + change.commit_now;
  return line + "\n";
}

}  // namespace

std::string history_text(const History& history, const std::string& run, bool points) {
  std::set<std::string> machines, commits;
  for (const HistoryRow& row : history.rows) {
    machines.insert(row.machine);
    if (!row.commit.empty()) commits.insert(row.commit);
  }
  std::string text = count_text(std::ssize(history.rows), "row") + ", " + count_text(std::ssize(commits), "commit") +
                     ", " + count_text(std::ssize(machines), "machine") + "\n";
  for (const std::string& note : history.notes) text += "note: " + note + "\n";
  std::vector<HistoryRow> chosen;
  for (const HistoryRow& row : history.rows)
    if (row.run.find(run) != std::string::npos) chosen.push_back(row);
  const auto series = series_of(chosen);
  const auto changes = changes_of(series);
  text += changes.empty() ? "no change was found\n" : "changes, newest first:\n";
  for (const HistoryChange& change : changes) text += "  " + change_line(change);
  std::string machine;
  for (const RunSeries& each : series) {
    const HistoryRow& last = each.last();
    if (last.machine != machine) text += "machine " + last.machine + ", " + last.machine_name + ":\n";
    machine = last.machine;
    text += "  " + last.source + " " + last.sweep + ", " + last.run + ": " +
            count_text(std::ssize(each.rows), "point") + ", " + last.verdict;
    if (!each.timed.empty()) text += ", tokens/s over the reference's " + speed_of_row(*each.timed.back());
    text += "\n";
    if (!points) continue;
    for (const HistoryRow* row : each.rows)
      text += "    " + row->taken + "  " + row->commit + "  " + row->verdict + "  " + speed_of_row(*row) + "  " +
              row->bits.substr(0, 12) + "\n";
  }
  return text;
}

}  // namespace plumbline
