// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/kill_matrix.hpp"

#include <algorithm>

#include "support/csv.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace plumbline::mutant {
bool Trial::killed() const {
  return std::ranges::find(red, expected) != red.end() && ended_as_expected;
}

void write_kill_matrix(const std::filesystem::path& file, const std::vector<Trial>& trials) {
  std::string text =
      csv_line({"name", "fault", "run", "schedule", "world", "expected", "killed", "red", "place_right", "first"});
  for (const Trial& trial : trials) {
    text += csv_line({trial.name, trial.fault, trial.run, trial.schedule, std::to_string(trial.world), trial.expected,
                      trial.harmless() ? "" : (trial.killed() ? "true" : "false"), join(trial.red, " "),
                      trial.place_asked ? (trial.place_right ? "true" : "false") : "", trial.first});
  }
  write_file(file, text);
}

}  // namespace plumbline::mutant
