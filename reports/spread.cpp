#include "reports/spread.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "reports/plot/svg.hpp"

namespace plumbline {
namespace {

constexpr std::size_t most_rows = 60, most_steps = 12;
constexpr double row_height = 14, square = 11, step_width = 2 * square + 8, label_width = 330, top = 20;

using ReferenceDigests = std::map<std::tuple<std::int64_t, std::string, std::string, std::int64_t>, std::string>;

/// (step, kind or direction, name or cut, microbatch) -> digest
ReferenceDigests digests_of(const Record& reference) {
  ReferenceDigests digests;
  for (const RankRecord& rank : reference.ranks) {
    for (const TensorRow& row : rank.tensors) digests[{row.step, row.kind, row.name, -1}] = row.digest;
    for (const BoundaryRow& row : rank.boundaries) {
      if (row.side == "computed") digests[{row.step, row.direction, row.cut, row.microbatch}] = row.digest;
    }
  }
  return digests;
}

/// The rows of one rank, found again by tensor.
class RankRows {
 public:
  explicit RankRows(std::int64_t rank) : rank_(rank) {}

  SpreadPlace& place(const std::string& tensor, bool crosses, std::int64_t step) {
    const auto [at, fresh] = index_.emplace(tensor, rows_.size());
    if (fresh) rows_.push_back({rank_, tensor, crosses, {}});
    return rows_[at->second].steps[step];
  }
  const std::vector<SpreadRow>& rows() const { return rows_; }

 private:
  std::int64_t rank_;
  std::map<std::string, std::size_t> index_;
  std::vector<SpreadRow> rows_;
};

void count(SpreadCount& into, const ReferenceDigests& digests, const ReferenceDigests::key_type& key,
           const std::string& digest) {
  const auto expected = digests.find(key);
  if (expected == digests.end()) return;
  ++into.compared;
  if (expected->second != digest) ++into.differing;
}

bool differs(const SpreadRow& row) {
  return std::ranges::any_of(
      row.steps, [](const auto& step) { return step.second.first.differing + step.second.second.differing > 0; });
}

std::string half(double x, double y, const SpreadCount& count, std::string_view what) {
  if (count.compared == 0) return "";
  constexpr std::string_view equal = " fill=\"none\" stroke=\"currentColor\" stroke-opacity=\"0.3\"/>";
  std::string svg = plot::rectangle(x, y, square, square, "");
  svg.resize(svg.rfind("/>"));
  if (count.differing == 0) return svg.append(equal);
  svg += " fill=\"#9c2f00\" stroke=\"#000\" fill-opacity=\"" +
         plot::coordinate(0.35 + 0.65 * static_cast<double>(count.differing) / static_cast<double>(count.compared)) +
         "\"><title>";
  svg.append(what).append(": ");
  return svg + std::to_string(count.differing) + " of " + std::to_string(count.compared) + " differ</title></rect>";
}

std::set<std::int64_t> steps_drawn(const Spread& spread) {
  std::set<std::int64_t> all, drawn;
  std::int64_t first = 0;
  bool found = false;
  for (const SpreadRow& row : spread.rows) {
    for (const auto& [step, place] : row.steps) {
      all.insert(step);
      if (place.first.differing + place.second.differing == 0) continue;
      first = found ? std::min(first, step) : step;
      found = true;
    }
  }
  for (const std::int64_t step : all) {
    if (step >= first && drawn.size() < most_steps) drawn.insert(step);
  }
  return drawn;
}

}  // namespace

Spread spread_of(const Record& reference, const Record& candidate) {
  const ReferenceDigests digests = digests_of(reference);
  Spread spread;
  for (const RankRecord& rank : candidate.ranks) {
    RankRows rows(rank.rank);
    for (const BoundaryRow& row : rank.boundaries) {
      SpreadPlace& place = rows.place("cut " + row.cut, true, row.step);
      count(row.direction == "forward" ? place.first : place.second, digests,
            {row.step, row.direction, row.cut, row.microbatch}, row.digest);
    }
    for (const TensorRow& row : rank.tensors) {
      if (row.kind != "gradient" && row.kind != "parameter") continue;
      SpreadPlace& place = rows.place(row.name, false, row.step);
      count(row.kind == "gradient" ? place.first : place.second, digests, {row.step, row.kind, row.name, -1},
            row.digest);
    }
    for (const SpreadRow& row : rows.rows()) {
      if (differs(row)) {
        spread.rows.push_back(row);
      } else {
        ++spread.equal_rows;
      }
    }
  }
  return spread;
}

std::string draw_spread(const Spread& spread, const std::string& title) {
  const auto steps = steps_drawn(spread);
  const std::size_t shown = std::min(spread.rows.size(), most_rows);
  std::string body;
  double x = label_width;
  for (const std::int64_t step : steps) {
    body += plot::label(x + square, top - 6, step < 0 ? "start" : "step " + std::to_string(step),
                        " text-anchor=\"middle\" font-size=\"10\"");
    x += step_width + 6;
  }
  for (std::size_t i = 0; i < shown; ++i) {
    const SpreadRow& row = spread.rows[i];
    const double y = top + row_height * static_cast<double>(i);
    body += plot::label(label_width - 10, y + 10, "rank " + std::to_string(row.rank) + "  " + row.tensor,
                        " text-anchor=\"end\" font-size=\"11\"");
    x = label_width;
    for (const std::int64_t step : steps) {
      if (const auto place = row.steps.find(step); place != row.steps.end()) {
        body += half(x, y, place->second.first, row.crosses ? "forward" : "gradient");
        body += half(x + square + 1, y, place->second.second, row.crosses ? "backward" : "parameter");
      }
      x += step_width + 6;
    }
  }
  double height = top + row_height * static_cast<double>(shown) + 8;
  if (shown < spread.rows.size()) {
    height += 18;
    body += plot::label(0, height - 8, "and " + std::to_string(spread.rows.size() - shown) + " more that differ");
  }
  return plot::picture(std::max(x, 700.0), height, title, body);
}

}  // namespace plumbline
