// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/case_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "harness/sweep/names.hpp"
#include "schedule/runnable.hpp"
#include "support/hash.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace fs = std::filesystem;

namespace {

std::string lengths_text(const std::vector<std::vector<std::int64_t>>& lengths) {
  std::string text;
  for (const auto& row : lengths) text += shape_text(row) + ",";
  return text;
}

}  // namespace

std::string training_id(const std::string& run, const RunChanges& changes) {
  std::string id = run;
  if (changes.optimizer && !id.ends_with("-" + *changes.optimizer)) id += "-" + *changes.optimizer;
  if (changes.granularity == "half" && !id.ends_with("-half")) id += "-half";
  if (!changes.lengths.empty()) id += "-lengths-" + hash_hex(lengths_text(changes.lengths)).substr(0, 6);
  if (changes.dump) id += "-dump";
  return id;
}

std::string schedule_name(const std::string& schedule) {
  return names_schedule_file(schedule) ? fs::path(schedule).filename().string() : schedule;
}

std::string variant_of(const ExtraCell& cell) {
  std::vector<std::string> parts;
  if (cell.changes.granularity) parts.push_back("granularity " + *cell.changes.granularity);
  if (cell.changes.partition) parts.push_back("partition " + *cell.changes.partition);
  std::vector<std::string> rows;
  for (const auto& row : cell.changes.lengths) rows.push_back(shape_text(row));
  constexpr std::size_t most_named = 8;
  if (rows.size() > most_named) {
    const std::string hash = hash_hex(lengths_text(cell.changes.lengths)).substr(0, 6);
    parts.push_back(fmt::format("lengths of {} microbatches ({})", rows.size(), hash));
  } else if (!rows.empty()) {
    parts.push_back("lengths " + join(rows, " "));
  }
  if (cell.changes.dump) parts.push_back("level dump");
  if (cell.resumes) {
    parts.push_back(fmt::format("resumed after {} on {}{}", quantity(cell.resumes->steps, "step"),
                                quantity(cell.resumes->world_size, "rank"),
                                cell.resumes->schedule ? " under " + schedule_name(*cell.resumes->schedule) : ""));
  }
  return join(parts, ", ");
}

std::string numbers_text(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> texts;
  for (const auto number : numbers) texts.push_back(std::to_string(number));
  return join(texts, "-");
}

std::string own_name(const fs::path& run) {
  return part_of_id(name_in_run_file(run).value_or(run.stem().string()));
}

std::map<fs::path, std::string> names_of_runs(const SweepFile& sweep) {
  std::set<fs::path> runs(sweep.runs.begin(), sweep.runs.end());
  for (const auto& cell : sweep.cells) runs.insert(cell.run);
  std::map<fs::path, std::string> own;
  for (const auto& run : runs) own[run] = own_name(run);
  const auto name_of = [&own](const fs::path& run, int folders) {
    std::string name = own.at(run);
    fs::path folder = fs::absolute(run).parent_path();
    for (; folders > 0 && folder.has_filename(); --folders, folder = folder.parent_path()) {
      name = folder.filename().string() + "-" + name;
    }
    return name;
  };
  std::map<fs::path, std::string> names;
  for (const auto& run : runs) {
    constexpr int most_folders = 32;
    for (int folders = 0; folders < most_folders; ++folders) {
      names[run] = name_of(run, folders);
      const bool alone = std::ranges::none_of(
          runs, [&](const fs::path& other) { return other != run && name_of(other, folders) == names[run]; });
      if (alone) break;
    }
  }
  return names;
}

}  // namespace plumbline
