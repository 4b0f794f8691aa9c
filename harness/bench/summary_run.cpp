#include "harness/bench/summary_run.hpp"

#include <sstream>
#include <utility>

#include "schedule/runnable.hpp"
#include "support/files.hpp"
#include "support/toml_library.hpp"

namespace plumbline {

namespace fs = std::filesystem;

std::string summary_run(const fs::path& run) {
  toml::table root = parse_toml(run, read_file(run));
  root.insert_or_assign("record", toml::table{{"level", "summary"}});
  const fs::path folder = fs::absolute(run).parent_path();
  for (const auto& [table, key] :
       {std::pair{"model", "config"}, {"model", "weights"}, {"data", "text"}, {"data", "tokens"}}) {
    const auto path = root[table][key].value<std::string>();
    if (path) root[table].as_table()->insert_or_assign(key, (folder / *path).lexically_normal().string());
  }
  const auto schedule = root["pipeline"]["schedule"].value<std::string>();
  if (schedule && names_schedule_file(*schedule))
    root["pipeline"].as_table()->insert_or_assign("schedule", (folder / *schedule).lexically_normal().string());
  std::ostringstream text;
  text << root << "\n";
  return text.str();
}

}  // namespace plumbline
