// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/finite_reference.hpp"

#include <cmath>

#include "record/mesh.hpp"
#include "record/rank_folder.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

/// The first step of one rank with a number that is not finite.
struct Place {
  std::int64_t step = 0;
  std::string words;
};

std::optional<Place> first_place(const CsvTable& table) {
  const std::size_t step = table.column("step"), rate = table.column("learning_rate");
  std::string last_rate;
  for (const CsvRow& row : table.rows) {
    for (const auto& [column, name] : {std::pair("loss", "loss"), std::pair("gradient_norm", "gradient norm")}) {
      const std::string& text = row.cells[table.column(column)];
      const auto value = parse_double(text);
      if (!value || std::isfinite(*value)) continue;
      const std::string& behind = last_rate.empty() ? row.cells[rate] : last_rate;
      return Place{parse_integer(row.cells[step]).value_or(0),
                   std::string(name) + " " + text + (behind.empty() ? "" : "; learning rate " + behind)};
    }
    last_rate = row.cells[rate];
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_not_finite(const std::filesystem::path& record) try {
  const auto replica = record_of_replica(record, {});
  std::optional<Place> first;
  for (std::int64_t rank = 0; folder_exists(replica / rank_folder(rank)); ++rank) {
    const auto place = first_place(
        read_csv(replica / rank_folder(rank) / "steps.csv", {"step", "loss", "gradient_norm", "learning_rate"}));
    if (place && (!first || place->step < first->step)) first = place;
  }
  if (!first) return std::nullopt;
  return "the reference is not finite from step " + std::to_string(first->step) + " on (" + first->words + ")";
} catch (const Error&) {
  return std::nullopt;
}

}  // namespace plumbline
