#include "record/launch_finding.hpp"

#include "support/error.hpp"

namespace plumbline {

Json to_json(const LaunchFinding& finding) {
  return {{"started", finding.started},
          {"timed_out", finding.timed_out},
          {"interrupted", finding.interrupted},
          {"exit_code", finding.exit_code},
          {"culprit_rank", finding.culprit_rank ? Json(*finding.culprit_rank) : Json(nullptr)},
          {"words", finding.words},
          {"process_peak_bytes", finding.process_peak_bytes},
          {"seconds", finding.seconds}};
}

LaunchFinding read_launch_finding(const std::filesystem::path& file) {
  const Json json = read_json(file);
  try {
    LaunchFinding finding;
    finding.started = json.at("started").get<bool>();
    finding.timed_out = json.at("timed_out").get<bool>();
    finding.interrupted = json.at("interrupted").get<bool>();
    finding.exit_code = json.at("exit_code").get<int>();
    if (!json.at("culprit_rank").is_null()) finding.culprit_rank = json.at("culprit_rank").get<std::int64_t>();
    finding.words = json.at("words").get<std::string>();
    finding.process_peak_bytes = json.at("process_peak_bytes").get<std::vector<std::int64_t>>();
    finding.seconds = json.at("seconds").get<double>();
    return finding;
  } catch (const Json::exception& error) {
    throw InputError(file.string() + ": not as this program writes it: " + error.what());
  }
}

}  // namespace plumbline
