// SPDX-License-Identifier: BSD-3-Clause
#include "record/exit_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "record/digest.hpp"
#include "record/json_keys.hpp"
#include "support/error.hpp"

namespace plumbline {

void write_exit_file(const std::filesystem::path& path, const ExitFile& exit) {
  Json json = {{"rank", exit.rank}, {"status", exit.status},           {"code", exit.code},
               {"signal", nullptr}, {"last_action", exit.last_action}, {"data_digest", nullptr}};
  if (exit.signal) json["signal"] = *exit.signal;
  if (exit.data_digest) json["data_digest"] = *exit.data_digest;
  for (const NotRecorded& entry : exit.not_recorded)
    json["not_recorded"].push_back({{"what", entry.what}, {"why", entry.why}});
  if (!exit.waited_for.empty()) json["waited_for"] = exit.waited_for;
  write_json(path, json);
}

std::optional<ExitFile> read_exit_file(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const Json json = read_json(path);
  const JsonKeys keys(path, json);
  keys.refuse_misspelled({"rank", "status", "code", "signal", "last_action", "data_digest", "notes", "waited_for",
                          "not_recorded", "where"});
  ExitFile exit;
  exit.rank = keys.integer("rank", 0);
  exit.status = keys.word("status", {"ok", "stopped", "error", "signal", "timeout"});
  constexpr auto smallest = std::numeric_limits<int>::min(), largest = std::numeric_limits<int>::max();
  exit.code = static_cast<int>(keys.integer("code", smallest, largest));
  exit.signal = keys.optional_text("signal");
  exit.last_action = keys.optional_text("last_action").value_or("");
  constexpr std::size_t most_characters = 400;
  if (keys.has_value("notes"))
    for (const std::string& note : keys.texts("notes")) exit.notes.push_back(note.substr(0, most_characters));
  exit.where = keys.optional_text("where").value_or("").substr(0, most_characters);
  if (keys.has_value("data_digest")) exit.data_digest = keys.digest("data_digest");
  exit.not_recorded = read_not_recorded(keys);
  if (keys.has_value("waited_for")) {
    const auto is_rank = [](const Json& value) { return value.is_number_integer() && value >= 0; };
    const Json& ranks = keys.at("waited_for");
    if (!ranks.is_array() || !std::ranges::all_of(ranks, is_rank)) keys.fail("waited_for", "must be a list of ranks");
    exit.waited_for = ranks.get<std::vector<std::int64_t>>();
  }
  if (exit.status == "ok" && exit.signal) keys.fail("signal", "must be null where status is 'ok'");
  return exit;
}

bool ended_well(const ExitFile& exit) {
  return exit.status == "ok" || exit.status == "stopped";
}

}  // namespace plumbline
