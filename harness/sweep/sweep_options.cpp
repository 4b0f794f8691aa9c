// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/sweep_options.hpp"

#include "support/shell.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

/// The command line of this sweep with these cases, except its folder.
std::vector<std::string> words_of(const SweepOptions& options, const std::vector<std::string>& cells) {
  std::vector<std::string> words = {options.program, "sweep", options.sweep_file.string()};
  for (const auto& cell : cells) words.insert(words.end(), {"--cells", cell});
  if (options.fail_fast) words.push_back("--fail-fast");
  if (options.keep_failures) words.insert(words.end(), {"--keep", "failures"});
  if (options.other_trainers) words.insert(words.end(), {"--trainers", options.trainers.string()});
  return words;
}

}  // namespace

std::string command_of_cell(const SweepOptions& options, const std::string& cell) {
  auto words = words_of(options, {cell});
  if (options.out) words.insert(words.end(), {"--out", (*options.out / "").parent_path().string() + "-" + cell});
  return shell_command(words);
}

std::string resume_command(const SweepOptions& options, const fs::path& folder) {
  auto words = words_of(options, options.cells);
  if (options.jobs > 1) words.insert(words.end(), {"--jobs", std::to_string(options.jobs)});
  if (options.shard)
    words.insert(words.end(),
                 {"--shard", std::to_string(options.shard->number) + "/" + std::to_string(options.shard->of)});
  words.insert(words.end(), {"--out", folder.string(), "--resume"});
  return shell_command(words);
}

}  // namespace plumbline
