// SPDX-License-Identifier: BSD-3-Clause
#include "record/not_recorded.hpp"

#include <algorithm>
#include <utility>

#include "record/json_keys.hpp"

namespace plumbline {

const std::vector<std::string>& kinds_of_rows() {
  static const std::vector<std::string> kinds = {"sends",  "receives",  "boundaries", "actions",    "schedule", "waits",
                                                 "losses", "gradients", "norm",       "parameters", "moments",  "rates",
                                                 "inputs", "labels",    "applied",    "buffers"};
  return kinds;
}

std::vector<NotRecorded> read_not_recorded(const JsonKeys& keys) {
  std::vector<NotRecorded> list;
  constexpr std::size_t most_characters = 400;
  if (!keys.has("not_recorded")) return list;
  for (const JsonKeys& entry : keys.objects("not_recorded")) {
    entry.refuse_unknown({"what", "why", "from_step"});
    NotRecorded read{entry.word("what", kinds_of_rows()), entry.text("why").substr(0, most_characters)};
    if (entry.has_value("from_step")) read.from_step = entry.integer("from_step", 0);
    list.push_back(std::move(read));
  }
  return list;
}

bool lists_any(const std::vector<NotRecorded>& list, const std::vector<std::string>& kinds) {
  return std::ranges::any_of(
      list, [&](const NotRecorded& entry) { return std::ranges::find(kinds, entry.what) != kinds.end(); });
}

}  // namespace plumbline
