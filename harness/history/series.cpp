#include "harness/history/series.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "reports/words.hpp"

namespace plumbline {
namespace {

using Key = std::vector<std::string>;

/// Each change of each run, gathered under what it shares with others.
class Changes {
 public:
  void add(HistoryChangeKind kind, const HistoryRow& before, const HistoryRow& now, const std::string& words,
           bool alone = false) {
    const Key key = {
        now.taken,           std::to_string(static_cast<int>(kind)), now.machine, now.source, now.sweep, before.commit,
        alone ? now.run : ""};
    HistoryChange& change = found_[key];
    change.kind = kind;
    change.taken = now.taken;
    change.commit_before = before.commit;
    change.commit_now = now.commit;
    change.machine_name = now.machine_name;
    change.sweep = now.sweep;
    if (change.runs.empty()) change.words = words;
    change.runs.push_back(now.run);
  }

  std::vector<HistoryChange> newest_first() const {
    std::vector<HistoryChange> changes;
    for (auto each = found_.rbegin(); each != found_.rend(); ++each) changes.push_back(each->second);
    std::ranges::stable_sort(changes, [](const auto& a, const auto& b) { return a.taken > b.taken; });
    return changes;
  }

 private:
  std::map<Key, HistoryChange> found_;
};

std::string speed_text(double speed) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", speed);
  return text;
}

std::string byte_words(const char* what, std::int64_t before, std::int64_t now) {
  std::string words = what;
  words += " " + grouped(before) + " bytes before, " + grouped(now) + " now (" + (now > before ? "+" : "");
  return words + grouped(now - before) + ")";
}

/// Exact: each other number is a change.
void add_exact_changes(const RunSeries& series, Changes& changes) {
  std::map<std::string, const HistoryRow*> with_bits;  // by code path
  const HistoryRow* before = nullptr;
  for (const HistoryRow* now : series.rows) {
    if (before && before->verdict != now->verdict)
      changes.add(HistoryChangeKind::verdict, *before, *now, before->verdict + " before, " + now->verdict + " now");
    if (before) {
      const std::array counts = {
          std::tuple{"parameters, gradients and optimiser state", before->state_bytes, now->state_bytes},
          std::tuple{"peak activations", before->activation_bytes, now->activation_bytes},
          std::tuple{"sent", before->sent_bytes, now->sent_bytes}};
      std::string words;
      for (const auto& [what, old_count, new_count] : counts)
        if (old_count && new_count && *old_count != *new_count)
          words += (words.empty() ? "" : "; ") + byte_words(what, *old_count, *new_count);
      if (!words.empty()) changes.add(HistoryChangeKind::bytes, *before, *now, words);
    }
    before = now;
    if (now->bits.empty()) continue;
    const HistoryRow*& same_path = with_bits[now->code_path];
    if (same_path && same_path->bits != now->bits)
      changes.add(HistoryChangeKind::bits, *same_path, *now, "other parameters at the end, on the same code path");
    same_path = now;
  }
}

void add_speed_changes(const RunSeries& series, Changes& changes) {
  for (const LevelChange& change : series.speed_changes) {
    const HistoryRow& now = *series.timed[change.first];
    const HistoryRow& before = *series.timed[change.begin];
    std::string words = "tokens/s over the reference's: " + speed_text(change.before) + " before, ";
    words += speed_text(change.after) + " now (" + percent_text(change.size()) + ")";
    if (change.kind == LevelChange::Kind::drift)
      words +=
          ", little by little since " + before.taken + (before.commit.empty() ? "" : " (commit " + before.commit + ")");
    char p[48];
    std::snprintf(p, sizeof p, ", p = %.2g", change.p);
    changes.add(HistoryChangeKind::speed, before, now, words + p, true);
  }
}

}  // namespace

std::string to_text(HistoryChangeKind kind) {
  switch (kind) {
    case HistoryChangeKind::verdict:
      return "verdict";
    case HistoryChangeKind::bits:
      return "bits";
    case HistoryChangeKind::bytes:
      return "bytes";
    case HistoryChangeKind::speed:
      return "speed";
  }
  return "";
}

std::string percent_text(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%+.1f %%", 100 * share);
  return text;
}

std::vector<RunSeries> series_of(const std::vector<HistoryRow>& rows, const LevelChangeOptions& options) {
  std::map<Key, RunSeries> by_run;
  for (const HistoryRow& row : rows) {
    RunSeries& series = by_run[{row.machine, row.source, row.sweep, row.run, row.asked}];
    series.rows.push_back(&row);
    if (row.speed) series.timed.push_back(&row);
  }
  std::vector<RunSeries> all;
  for (auto& [key, series] : by_run) {
    std::vector<double> speeds;
    for (const HistoryRow* row : series.timed) speeds.push_back(row->speed->value);
    series.speed_changes = find_level_changes(speeds, options);
    all.push_back(std::move(series));
  }
  return all;
}

std::vector<HistoryChange> changes_of(const std::vector<RunSeries>& series) {
  Changes changes;
  for (const RunSeries& each : series) {
    add_exact_changes(each, changes);
    add_speed_changes(each, changes);
  }
  return changes.newest_first();
}

}  // namespace plumbline
