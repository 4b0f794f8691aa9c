#include "harness/history/step_seconds.hpp"

#include <algorithm>
#include <map>

#include "record/rank_folder.hpp"
#include "support/csv.hpp"
#include "support/error.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"

namespace plumbline {

std::vector<double> step_seconds(const std::filesystem::path& record) {
  std::map<std::int64_t, double> slowest;
  for (std::int64_t rank = 0;; ++rank) {
    const auto folder = record / rank_folder(rank);
    if (rank > 0 && !folder_exists(folder)) break;
    const CsvTable table = read_csv(folder / "steps.csv", {"step", "seconds"});
    const std::size_t step_column = table.column("step"), seconds_column = table.column("seconds");
    for (const CsvRow& row : table.rows) {
      const auto step = parse_integer(row.cells[step_column]);
      const auto seconds = parse_double(row.cells[seconds_column]);
      if (!step || !seconds || !(*seconds > 0))
        throw InputError(table.path.string() + ":" + std::to_string(row.line) + ": no step with its seconds");
      double& most = slowest[*step];
      most = std::max(most, *seconds);
    }
  }
  std::vector<double> seconds;
  for (const auto& [step, longest] : slowest)
    if (step > 0) seconds.push_back(longest);
  return seconds;
}

}  // namespace plumbline
