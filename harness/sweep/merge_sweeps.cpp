// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/merge_sweeps.hpp"

#include <algorithm>
#include <map>
#include <memory>

#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/run_inputs.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct Part {
  std::unique_ptr<SweepFolder> folder;  ///< locks the folder
  KeptSweep sweep;
};

/// A run in two parts is one run if it was made from the same.
void refuse_unless_one_sweep(const std::vector<Part>& parts) {
  std::map<std::string, const SweepFolder*> made;
  for (const Part& part : parts) {
    const auto refuse = [&](const SweepFolder& other, const std::string& why) {
      throw InputError(other.path().string() + " and " + part.folder->path().string() +
                       " are not parts of the same sweep: " + why);
    };
    if (part.sweep.file != parts.front().sweep.file)
      refuse(*parts.front().folder,
             "their sweep files differ (" + parts.front().sweep.name + ", " + part.sweep.name + ")");
    std::vector<std::string> launches;
    for (const auto& reference : part.sweep.references()) launches.push_back("reference-" + reference.id);
    for (const auto& cell : part.sweep.cells) launches.push_back(cell.id);
    for (const std::string& launch : launches) {
      const RunInputs inputs = part.folder->inputs_of(launch);
      if (inputs.empty()) continue;  // it was not made
      const SweepFolder& first = *made.emplace(launch, part.folder.get()).first->second;
      if (const auto name = first_difference(first.inputs_of(launch), inputs))
        refuse(first, launch + " differs between the two (" + *name + "); merge only one of them");
    }
  }
}

/// Folders with one entry per reference, case or run; existing entries are not replaced.
void copy_new_entries(const fs::path& from, const fs::path& to) {
  for (const char* kind : {"references", "cells", "repeats", "replays", "dumps", "again", "calibrations", "launches"}) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(from / kind, none)) {
      make_folder(to / kind);
      const fs::path place = to / kind / entry.path().filename();
      if (path_exists(place)) continue;
      std::error_code error;
      fs::copy(entry.path(), place, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
      if (error) throw SystemError(place.string() + ": cannot be written: " + error.message());
    }
  }
}

/// Sorts cases as in the sweep file. `missing` receives those that no part has.
KeptSweep put_together(const std::vector<Part>& parts, std::vector<std::string>& missing) {
  KeptSweep whole = parts.front().sweep;
  whole.cells.clear();
  for (const auto& id : whole.all_cells) {
    for (const Part& part : parts) {
      const auto cell = std::ranges::find(part.sweep.cells, id, &CellPlan::id);
      if (cell == part.sweep.cells.end()) continue;
      whole.cells.push_back(*cell);
      break;
    }
    if (whole.cells.empty() || whole.cells.back().id != id) missing.push_back(id);
  }
  return whole;
}

}  // namespace

std::vector<std::string> merge_sweeps(const std::vector<fs::path>& paths, const fs::path& out) {
  if (paths.size() < 2) throw InputError("merge: needs the folders of at least two parts of a sweep");
  if (path_exists(out) && !(folder_exists(out) && fs::is_empty(out)))
    throw InputError(out.string() + ": already exists; choose another --out. Nothing was overwritten.");
  for (auto path = paths.begin(); path != paths.end(); ++path) {
    const auto same = [&](const fs::path& other) {
      std::error_code none;
      return fs::equivalent(*path, other, none);
    };
    if (std::any_of(paths.begin(), path, same)) throw InputError(path->string() + ": is named twice");
  }
  std::vector<Part> parts;
  for (const auto& path : paths)
    parts.push_back({std::make_unique<SweepFolder>(path), read_kept_sweep(path / "sweep.json")});
  refuse_unless_one_sweep(parts);
  std::vector<std::string> missing;
  const KeptSweep whole = put_together(parts, missing);
  std::string started = parts.front().folder->started();
  make_folder(out);
  for (const Part& part : parts) {
    copy_new_entries(part.folder->path(), out);
    started = std::min(started, part.folder->started());
  }
  SweepFolder::write_sweep(out, whole.name, started, to_json(whole));  // last, because it marks the folder as a sweep
  return missing;
}

}  // namespace plumbline
