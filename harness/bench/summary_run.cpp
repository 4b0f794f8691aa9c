// SPDX-License-Identifier: BSD-3-Clause
#include "harness/bench/summary_run.hpp"

#include <sstream>

#include "harness/sweep/run_paths.hpp"
#include "schedule/runnable.hpp"
#include "support/files.hpp"
#include "support/toml_library.hpp"

namespace plumbline {

namespace fs = std::filesystem;

std::string summary_run(const fs::path& run) {
  toml::table root = parse_toml(run, read_file(run));
  root.insert_or_assign("record", toml::table{{"level", "summary"}});
  const fs::path folder = fs::absolute(run).parent_path();
  change_paths(root, [&](const std::string& path) { return (folder / path).lexically_normal().string(); });
  const auto schedule = root["pipeline"]["schedule"].value<std::string>();
  if (schedule && names_schedule_file(*schedule))
    root["pipeline"].as_table()->insert_or_assign("schedule", (folder / *schedule).lexically_normal().string());
  std::ostringstream text;
  text << root << "\n";
  return text.str();
}

}  // namespace plumbline
