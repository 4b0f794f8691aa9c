// SPDX-License-Identifier: BSD-3-Clause
#include "reports/launch_evidence.hpp"

#include "support/files.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_output_bytes = 4096;

/// The end of a file, from the start of a line; empty if there is none.
std::string end_of_file(const fs::path& path) {
  std::error_code missing;
  if (!fs::is_regular_file(path, missing)) return "";
  std::string text = read_file(path);
  if (text.size() <= most_output_bytes) return text;
  const auto line = text.find('\n', text.size() - most_output_bytes);
  return "...\n" + text.substr(line == std::string::npos ? text.size() - most_output_bytes : line + 1);
}

std::string first_line(const fs::path& path) {
  std::error_code missing;
  if (!fs::is_regular_file(path, missing)) return "";
  const std::string text = read_file(path);
  return text.substr(0, text.find('\n'));
}

}  // namespace

LaunchEvidences gather_launches(const fs::path& folder, const Verdict& verdict) {
  LaunchEvidences launches;
  const auto take = [&](const std::string& name) {
    const fs::path launch = folder / "launches" / name;
    LaunchEvidence evidence{first_line(launch / "command.txt"), end_of_file(launch / "stderr.txt")};
    if (!evidence.command.empty() || !evidence.error_end.empty()) launches.emplace(name, std::move(evidence));
  };
  for (const auto& reference : verdict.references) take("reference-" + reference.id);
  for (const auto& cell : verdict.cells) take(cell.id);
  return launches;
}

}  // namespace plumbline
