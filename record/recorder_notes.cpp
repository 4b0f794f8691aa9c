// SPDX-License-Identifier: BSD-3-Clause
#include "record/recorder_notes.hpp"

#include <fmt/format.h>

#include "record/rank_folder.hpp"
#include "support/error.hpp"
#include "support/json_text.hpp"

namespace plumbline {

std::vector<std::string> recorder_notes(const Record& record) {
  constexpr std::size_t most_characters = 400;
  std::vector<std::string> notes;
  if (record.manifest.traits.own) return notes;
  for (std::int64_t rank = 0; rank < record.manifest.world_size; ++rank) {
    const auto path = record.path / rank_folder(rank) / "exit.json";
    if (!std::filesystem::exists(path)) continue;
    try {
      const Json exit = read_json(path), told = exit.value("notes", Json::array());
      for (const Json& note : told.is_array() ? told : Json::array())
        if (note.is_string())
          notes.push_back(fmt::format("rank {}: {}", rank, note.get<std::string>().substr(0, most_characters)));
    } catch (const InputError&) {  // reported when the record is read
    }
  }
  return notes;
}

}  // namespace plumbline
