// SPDX-License-Identifier: BSD-3-Clause
#include "support/json_text.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "support/error.hpp"
#include "support/plain_text.hpp"

namespace plumbline {
namespace {

/// Nested values are copied, compared and written recursively, so the stack must suffice for the deepest file. No file
/// of ours or of Hugging Face comes near this limit.
constexpr std::size_t deepest_nesting = 64;

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

/// Builds the value in one pass: the library's own insertion compares each new key with all before it. Refuses deep
/// nesting, and a key that is twice in one object: the library would silently keep the last value. Strings and
/// keys go into messages, pages and tables, so each is made printable here.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Builder(const std::filesystem::path& path, std::string_view bytes, JsonTexts texts)
      : path_(path), bytes_(bytes), as_written_(texts == JsonTexts::as_written) {}

  bool null() override { return take(nullptr); }
  bool boolean(bool value) override { return take(value); }
  bool number_integer(std::int64_t value) override { return take(value); }
  bool number_unsigned(std::uint64_t value) override { return take(value); }
  bool number_float(double value, const std::string&) override { return take(value); }
  bool string(std::string& value) override { return take(as_written_ ? std::move(value) : printable(value)); }
  bool binary(Json::binary_t&) override { return false; }  // not in texts
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    key_ = as_written_ ? std::move(name) : printable(name);
    if (!open_.back().keys.insert(key_).second)
      refuse(path_, "", fmt::format("key '{}' is twice in one object", printable(key_)));
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    std::string place;
    if (const auto* at = dynamic_cast<const Json::parse_error*>(&error))
      place = ":" + place_in_text(bytes_, at->byte > 0 ? at->byte - 1 : 0);  // the library counts from 1
    refuse(path_, place, printable(reason(error.what())));
  }

  Json root;

 private:
  struct Open {
    Json* value;
    std::unordered_set<std::string> keys;
  };

  Json* add(Json value) {
    if (open_.empty()) return &(root = std::move(value));
    Json& parent = *open_.back().value;
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    auto& members = parent.get_ref<Json::object_t&>();
    members.emplace_back(std::move(key_), std::move(value));
    return &members.back().second;
  }
  bool take(Json value) {
    add(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() == deepest_nesting)
      refuse(path_, "", fmt::format("nested more than {} deep; the file is damaged", deepest_nesting));
    open_.push_back({add(std::move(value)), {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::filesystem::path& path_;
  std::string_view bytes_;
  bool as_written_;
  std::vector<Open> open_;
  std::string key_;  ///< of the next value
};

}  // namespace

Json parse_json(const std::filesystem::path& path, std::string_view bytes, JsonTexts texts) {
  Builder builder(path, bytes, texts);
  Json::sax_parse(bytes, &builder);
  return std::move(builder.root);
}

std::string json_text(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string unquoted(const Json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

}  // namespace plumbline
