// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/merge_sweeps.hpp"

#include <algorithm>
#include <memory>
#include <set>

#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/sweep_fingerprint.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/paths.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

struct Part {
  std::unique_ptr<SweepFolder> folder;  ///< locks the folder
  KeptSweep sweep;
  SweepFingerprint fingerprint;
};

Part read_part(const fs::path& path) {
  Part part;
  part.folder = std::make_unique<SweepFolder>(path);
  const fs::path file = path / "sweep.json";
  part.sweep = read_kept_sweep(file);
  part.fingerprint = read_fingerprint(read_json(file), file);
  if (part.sweep.file.empty())
    throw InputError(file.string() + ": an older version made this sweep, so it cannot be merged; run it again");
  return part;
}

/// The reason why the two are not shards of one sweep; nullopt if they are.
std::optional<std::string> why_not_one(const Part& one, const Part& other) {
  if (one.sweep.file != other.sweep.file || one.sweep.name != other.sweep.name)
    return "their sweep files differ (" + one.sweep.name + ", " + other.sweep.name + ")";
  if (one.fingerprint.judge != other.fingerprint.judge)
    return "they were judged by different builds of this program; bring one up to date with plumbline sweep ... "
           "--resume";
  return changed_since(one.fingerprint, other.fingerprint);
}

void refuse_unless_one_sweep(const std::vector<Part>& parts) {
  std::set<std::string> cells;
  for (const Part& part : parts) {
    if (const auto why = why_not_one(parts.front(), part)) {
      throw InputError(parts.front().folder->path().string() + " and " + part.folder->path().string() +
                       " are not parts of one sweep: " + *why);
    }
    for (const auto& cell : part.sweep.cells) {
      if (cells.insert(cell.id).second) continue;
      throw InputError(part.folder->path().string() + ": holds the case " + cell.id +
                       ", and so does another part; leave one of the two out");
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

/// Sorts cases as in the sweep file, and references by their first case.
KeptSweep put_together(const std::vector<Part>& parts, std::vector<std::string>& missing) {
  KeptSweep whole = parts.front().sweep;
  whole.cells.clear();
  whole.references.clear();
  for (const auto& id : whole.all_cells) {
    bool found = false;
    for (const Part& part : parts) {
      const auto cell = std::ranges::find(part.sweep.cells, id, &CellPlan::id);
      if (cell == part.sweep.cells.end()) continue;
      found = true;
      whole.cells.push_back(*cell);
      if (std::ranges::find(whole.references, cell->reference, &KeptReference::id) != whole.references.end()) continue;
      const auto reference = std::ranges::find(part.sweep.references, cell->reference, &KeptReference::id);
      if (reference != part.sweep.references.end()) whole.references.push_back(*reference);
    }
    if (!found) missing.push_back(id);
  }
  // A reference needs the data coverage that any of its cases requires.
  for (auto& reference : whole.references) {
    for (const Part& part : parts) {
      const auto same = std::ranges::find(part.sweep.references, reference.id, &KeptReference::id);
      if (same == part.sweep.references.end()) continue;
      reference.bench = reference.bench || same->bench;
      reference.equal_lengths = reference.equal_lengths && same->equal_lengths;
    }
  }
  whole.selection.cells = std::ssize(whole.cells);
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
  for (const auto& path : paths) parts.push_back(read_part(path));
  refuse_unless_one_sweep(parts);
  std::vector<std::string> missing;
  const KeptSweep whole = put_together(parts, missing);
  SweepFingerprint fingerprint = parts.front().fingerprint;
  std::string started = parts.front().folder->started();
  make_folder(out);
  for (const Part& part : parts) {
    copy_new_entries(part.folder->path(), out);
    fingerprint.runs.insert(part.fingerprint.runs.begin(), part.fingerprint.runs.end());
    started = std::min(started, part.folder->started());
  }
  SweepFolder::write_sweep(out, whole.name, fingerprint, started,
                           to_json(whole));  // last, because it marks the folder as a sweep
  return missing;
}

}  // namespace plumbline
