// SPDX-License-Identifier: BSD-3-Clause
#include "record/launch_finding.hpp"

#include <limits>

#include "record/json_keys.hpp"

namespace plumbline {

Json to_json(const LaunchFinding& finding) {
  return {{"started", finding.started},
          {"timed_out", finding.timed_out},
          {"interrupted", finding.interrupted},
          {"exit_code", finding.exit_code},
          {"culprit_rank", finding.culprit_rank ? Json(*finding.culprit_rank) : Json(nullptr)},
          {"words", finding.words},
          {"seconds", finding.seconds}};
}

LaunchFinding read_launch_finding(const std::filesystem::path& file) {
  const Json json = read_json(file);
  const JsonKeys keys(file, json);
  LaunchFinding finding;
  finding.started = keys.flag("started");
  finding.timed_out = keys.flag("timed_out");
  finding.interrupted = keys.flag("interrupted");
  finding.exit_code =
      static_cast<int>(keys.integer("exit_code", std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  keys.at("culprit_rank");
  if (keys.has_value("culprit_rank")) finding.culprit_rank = keys.integer("culprit_rank", 0);
  finding.words = keys.text("words");
  finding.seconds = keys.number("seconds");
  return finding;
}

}  // namespace plumbline
