#include "support/json.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "support/files.hpp"
#include "support/json_text.hpp"
#include "support/numbers.hpp"

namespace plumbline {
namespace {

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
  return parse_json(path, read_file(path));
}

void write_json(const std::filesystem::path& path, const Json& value) {
  refuse_non_finite(value, "");
  write_file(path, json_text(value, 2) + "\n");
}

bool same_content(const Json& one, const Json& other) {
  return nlohmann::json(one) == nlohmann::json(other);
}

}  // namespace plumbline
