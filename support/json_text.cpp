// SPDX-License-Identifier: BSD-3-Clause
#include "support/json_text.hpp"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "support/error.hpp"
#include "support/plain_text.hpp"

namespace plumbline {
namespace {

/// Nested values are copied, compared and written recursively, so the stack must suffice for the deepest file. No file
/// of ours or of Hugging Face comes near this limit.
constexpr int deepest_nesting = 64;

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& place, const std::string& what) {
  throw InputError(fmt::format("{}{}: not valid JSON: {}", path.string(), place, what));
}

/// The library's message without exception number and position.
std::string reason(std::string text) {
  if (const auto position = text.find("column "); position != std::string::npos) {
    if (const auto colon = text.find(": ", position); colon != std::string::npos) return text.substr(colon + 2);
  }
  if (const auto bracket = text.find("] "); bracket != std::string::npos) return text.substr(bracket + 2);
  return text;
}

/// Refuses deep nesting, and a key that is twice in one object, of which the library would silently keep the last
/// value.
Json parse_strictly(const std::filesystem::path& path, std::string_view bytes) {
  std::vector<std::set<std::string>> open;  // keys of the open objects
  return Json::parse(bytes, [&](int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if ((event == Event::object_start || event == Event::array_start) && depth == deepest_nesting)
      refuse(path, "", fmt::format("nested more than {} deep; the file is damaged", deepest_nesting));
    if (event == Event::object_start) open.emplace_back();
    if (event == Event::object_end) open.pop_back();
    if (event == Event::key && !open.back().insert(parsed.get<std::string>()).second)
      refuse(path, "", fmt::format("key '{}' is twice in one object", parsed.get<std::string>()));
    return true;
  });
}

}  // namespace

Json parse_json(const std::filesystem::path& path, std::string_view bytes) try {
  return parse_strictly(path, bytes);
} catch (const Json::parse_error& error) {
  const std::size_t offset = error.byte > 0 ? error.byte - 1 : 0;  // the library counts from 1
  refuse(path, ":" + place_in_text(bytes, offset), reason(error.what()));
} catch (const Json::exception& error) {
  refuse(path, "", reason(error.what()));
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string unquoted(const Json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

}  // namespace plumbline
