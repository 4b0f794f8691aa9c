// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mutant/canary.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "tests/paths.hpp"
#include "tests/split.hpp"

namespace plumbline {
namespace {

Canary canary_of(const std::string& line) {
  std::istringstream words(line);
  Canary canary;
  words >> canary.name;
  std::map<std::string, std::string> given;
  std::string* value = nullptr;
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      value->append(" ").append(word);
    } else {
      value = &given[word.substr(0, equals)];
      *value = word.substr(equals + 1);
    }
  }
  const auto text = [&](const char* key, const char* usual = "") {
    const auto found = given.extract(key);
    return found ? found.mapped() : usual;
  };
  const auto number = [&](const char* key) -> std::optional<std::int64_t> {
    const std::string found = text(key);
    return found.empty() ? std::nullopt : std::optional(std::stoll(found));
  };
  canary.fault = text("fault");
  canary.run = text("run", "canary-untied");
  canary.world = number("world").value_or(3);
  canary.schedule = text("schedule", "1f1b");
  canary.resume_at = number("resume_at").value_or(0);
  canary.other_instructions = text("instructions") == "other";
  canary.check = text("check");
  canary.step = number("step");
  canary.microbatch = number("microbatch");
  canary.rank = number("rank");
  canary.direction = text("direction");
  canary.item = text("item");
  canary.still_hold = testing::split(text("hold"), ',');
  canary.output = text("output");
  if (!given.empty()) throw std::runtime_error("no such key of a canary: " + given.begin()->first);
  return canary;
}

}  // namespace

bool Canary::is_at(const Finding& place) const {
  return (!step || place.step == *step) && (!microbatch || place.microbatch == microbatch) &&
         (!rank || place.rank == rank) && place.direction == direction && place.item.find(item) != std::string::npos;
}

std::vector<Canary> read_canaries(const std::string& file) {
  std::ifstream lines(testing::source_path() + "/tests/mutant/" + file);
  std::vector<Canary> canaries;
  for (std::string line; std::getline(lines, line);)
    if (!line.empty() && line.front() != '#') canaries.push_back(canary_of(line));
  if (canaries.empty()) throw std::runtime_error("tests/mutant/" + file + " has no canary");
  return canaries;
}

std::string canary_name(const ::testing::TestParamInfo<Canary>& tested) {
  return tested.param.name;
}

void PrintTo(const Canary& canary, std::ostream* out) {
  *out << canary.name;
}

const CheckResult& find(const CellVerdict& verdict, std::string_view check) {
  return *std::ranges::find(verdict.checks, check, &CheckResult::name);
}

}  // namespace plumbline
