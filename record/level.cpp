// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <array>
#include <stdexcept>
#include <utility>

#include "record/writer.hpp"
#include "support/error.hpp"

namespace plumbline {
namespace {

constexpr std::array<std::pair<RecordLevel, const char*>, 4> levels{{{RecordLevel::none, "none"},
                                                                     {RecordLevel::summary, "summary"},
                                                                     {RecordLevel::full, "full"},
                                                                     {RecordLevel::dump, "dump"}}};

}  // namespace

RecordLevel parse_record_level(const std::string& text) {
  for (const auto& [level, name] : levels)
    if (text == name) return level;
  throw InputError(fmt::format("record level '{}' is not known; known: none, summary, full, dump", text));
}

std::string to_text(RecordLevel level) {
  for (const auto& [known, name] : levels)
    if (level == known) return name;
  throw std::logic_error("a record level without a name");
}

}  // namespace plumbline
