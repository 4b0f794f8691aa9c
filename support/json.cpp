#include "support/json.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

/// nlohmann counts bytes read up to and with the offending one, from 1.
std::string place(std::string_view bytes, std::size_t read) {
  const std::string_view before = bytes.substr(0, std::min(read > 0 ? read - 1 : 0, bytes.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  const auto column = before.size() - line_start + 1;
  return to_text(static_cast<std::int64_t>(line)) + ":" + to_text(static_cast<std::int64_t>(column));
}

/// The library's own words without its exception number and position.
std::string reason(std::string text) {
  if (const auto position = text.find("column "); position != std::string::npos) {
    if (const auto colon = text.find(": ", position); colon != std::string::npos) return text.substr(colon + 2);
  }
  if (const auto bracket = text.find("] "); bracket != std::string::npos) return text.substr(bracket + 2);
  return text;
}

void refuse_non_finite(const Json& value, const std::string& where) {
  if (value.is_number_float() && !std::isfinite(value.get<double>()))
    throw std::logic_error("JSON has no NaN or infinity, yet one stands at " + (where.empty() ? "the top" : where));
  if (value.is_object())
    for (const auto& [key, member] : value.items()) refuse_non_finite(member, where + "/" + key);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i)
      refuse_non_finite(value[i], where + "/" + to_text(static_cast<std::int64_t>(i)));
}

}  // namespace

Json read_json(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  try {
    return Json::parse(bytes);
  } catch (const Json::parse_error& error) {
    throw InputError(path.string() + ":" + place(bytes, error.byte) + ": not valid JSON: " + reason(error.what()));
  } catch (const Json::exception& error) {
    throw InputError(path.string() + ": not valid JSON: " + reason(error.what()));
  }
}

void write_json(const std::filesystem::path& path, const Json& value) {
  refuse_non_finite(value, "");
  // Text from outside (a command line, a log) may not be UTF-8: shown with replacement characters rather than lost.
  write_file(path, value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace plumbline
