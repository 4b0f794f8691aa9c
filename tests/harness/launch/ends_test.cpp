// SPDX-License-Identifier: BSD-3-Clause
// How runs end, as cases in tests/approved/waits.txt (which rank blocked the others) and ends.txt (the whole finding).
#include <map>
#include <sstream>

#include "harness/launch/explain_end.hpp"
#include "support/error.hpp"
#include "tests/approved.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

/// "1 1RECV_F0 for=0 gone=2 error": rank, action ("-" before its first heartbeat), and what else was observed.
RankSight sight_of(const std::string& line) {
  std::istringstream words(line);
  RankSight sight;
  words >> sight.rank >> sight.action;
  sight.seen = sight.action != "-";
  if (!sight.seen) sight.action.clear();
  if (sight.action == "none") sight.action.clear();
  sight.step = sight.seen ? 1 : -1;
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals), text = equals == std::string::npos ? "1" : word.substr(equals + 1);
    const std::map<std::string, bool RankSight::*> flags{
        {"found", &RankSight::found},   {"still", &RankSight::still},        {"stopped", &RankSight::stopped},
        {"traced", &RankSight::traced}, {"first", &RankSight::failed_first}, {"gone", &RankSight::gone}};
    if (const auto flag = flags.find(name); flag != flags.end()) sight.*(flag->second) = true;
    if (name == "gone") sight.gone_order = std::stoi(text);
    if (name == "for") sight.peer = std::stoi(text);
    if (name == "step") sight.step = std::stoi(text);
    if (name == "signal") sight.signal = std::stoi(text);
    if (name == "where") sight.where = text;
    if (name == "ok" || name == "error" || name == "timeout")
      sight.exit = ExitFile{sight.rank, name, name == "ok" ? 0 : 1, std::nullopt, ""};
    if (name == "died")
      sight.exit = ExitFile{sight.rank, "signal", 139, text == "1" ? std::nullopt : std::optional(text), ""};
  }
  return sight;
}

/// The lines of a case: ranks, and settings by their first word.
struct Case {
  explicit Case(const std::string& input) {
    std::istringstream lines(input);
    for (std::string line; std::getline(lines, line);) {
      const auto space = line.find(' ');
      if (std::isdigit(static_cast<unsigned char>(line.front())) != 0)
        ranks.push_back(sight_of(line));
      else
        settings[line.substr(0, space)] = space == std::string::npos ? "" : line.substr(space + 1);
    }
  }
  bool has(const char* name) const { return settings.contains(name); }
  std::optional<int> number(const char* name) const {
    return has(name) ? std::optional(std::stoi(settings.at(name))) : std::nullopt;
  }

  std::vector<RankSight> ranks;
  std::map<std::string, std::string> settings;
};

std::string finding_text(const std::optional<std::int64_t>& culprit, const std::string& words) {
  return (culprit ? "rank " + std::to_string(*culprit) : "no rank") + ": " + words;
}

TEST(Diagnosis, IsAsApproved) {
  expect_answers("waits.txt", [](const std::string& input) {
    const Case given(input);
    const Diagnosis found =
        given.has("after")
            ? diagnose_after_the_run(given.ranks, given.settings.at("after") != "killed")
            : diagnose(given.ranks, given.has("limit") ? std::optional<std::string>("60 s") : std::nullopt);
    return finding_text(found.culprit, found.words);
  });
}

TEST(ExplainEnd, IsAsApproved) {
  expect_answers("ends.txt", [](const std::string& input) {
    const Case given(input);
    const TemporaryFolder folder;
    std::string errors = given.has("said") ? given.settings.at("said") : "";
    for (std::size_t at = 0; (at = errors.find("\\n", at)) != std::string::npos;) errors.replace(at, 2, "\n");
    folder.file("stderr.txt", errors);
    Launch launch;
    launch.command = {given.has("command") ? given.settings.at("command") : "mpirun", "-n", "3", "trainer"};
    launch.folder = folder.path();
    launch.ranks = 3;
    launch.speaker = given.has("silent") ? "" : "trainer";
    launch.time_limit = std::chrono::milliseconds(1500);
    if (given.has("record_removed")) launch.record = folder / "record";
    LaunchEnd end{launch, given.ranks};
    for (RankSight& sight : end.sights) {
      sight.found |= sight.seen;
      end.any_seen |= sight.seen || given.has("seen");
    }
    end.own_signal = given.number("own_signal");
    end.launcher_signal = given.number("launcher_signal");
    end.launcher_stopped = given.has("launcher_stopped");
    end.by_itself = given.has("by_itself");
    if (const auto size = given.number("said_before")) end.said_before = *size;
    LaunchFinding finding;
    finding.exit_code = given.number("code").value_or(1);
    finding.timed_out = given.has("limit");
    explain(end, finding);
    return (finding.started ? "" : "not started; ") +
           finding_text(finding.culprit_rank, in_folder(folder, finding.words));
  });
}

TEST(ExplainEnd, OneFailedRankIsEnough) {
  std::vector<RankSight> ranks = {sight_of("0 0F0 ok"), sight_of("1 1F0 ok")};
  EXPECT_TRUE(all_ended_well(ranks));
  ranks[1] = sight_of("1 1F0 error");
  EXPECT_FALSE(all_ended_well(ranks));
  ranks[1] = sight_of("1 1F0");
  EXPECT_FALSE(all_ended_well(ranks));
}

}  // namespace
}  // namespace plumbline::testing
