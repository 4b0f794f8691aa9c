// SPDX-License-Identifier: BSD-3-Clause
#undef NDEBUG                // with NDEBUG the library would assume what it asserts
#define TOML_IMPLEMENTATION  // this file compiles the library's code
#include "support/toml_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "support/error.hpp"
#include "support/plain_text.hpp"
#include "support/toml_characters.hpp"

namespace plumbline {
namespace {

/// Thrown by a failed assertion of the library.
struct AssertionFailed {};

/// Nested tables are destroyed recursively: the stack must suffice for the deepest file.
constexpr std::size_t deepest_key = 100;

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& place, const std::string& what) {
  throw InputError(fmt::format("{}:{}: not valid TOML: {}", path.string(), place, what));
}

/// Refuses a.b.c... with more parts than any file of ours has. Other text has few dots between two commas, lines or
/// equals signs. Runs of dots are no keys and do not count.
void refuse_deep_keys(const std::filesystem::path& path, std::string_view bytes) {
  std::size_t dots = 0;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char byte = bytes[at];
    if (byte == '\n' || byte == '=' || byte == ',') dots = 0;
    if (byte != '.') continue;
    dots = at > 0 && bytes[at - 1] == '.' ? 0 : dots + 1;
    if (dots > deepest_key)
      refuse(path, place_in_text(bytes, at), fmt::format("more than {} dots in one key", deepest_key));
  }
}

bool fails_an_assertion(std::string_view bytes) {
  try {
    static_cast<void>(toml::parse(bytes));
  } catch (const toml::parse_error&) {
  } catch (const AssertionFailed&) {
    return true;
  }
  return false;
}

/// Binary search: the parser reads from the front, so every prefix that includes the failing byte fails as well.
std::size_t byte_of_assertion(std::string_view bytes) {
  std::size_t passes = 0;
  std::size_t fails = bytes.size();
  while (fails - passes > 1) {
    const std::size_t middle = passes + (fails - passes) / 2;
    (fails_an_assertion(bytes.substr(0, middle)) ? fails : passes) = middle;
  }
  return passes;
}

}  // namespace

void fail_toml_assertion(const char*) {
  throw AssertionFailed();
}

toml::table parse_toml(const std::filesystem::path& path, std::string_view bytes) {
  refuse_what_is_no_text(path, bytes);
  refuse_deep_keys(path, bytes);
  const std::string text = with_blanks_in_ascii(path, bytes);
  try {
    return toml::parse(std::string_view(text), path.string());
  } catch (const toml::parse_error& error) {
    const toml::source_position& at = error.source().begin;
    refuse(path, fmt::format("{}:{}", at.line, at.column), std::string(error.description()));
  } catch (const AssertionFailed&) {
    refuse(path, place_in_text(text, byte_of_assertion(text)),
           "not allowed here; a key is made of A-Z, a-z, 0-9, _ and -, or is quoted");
  }
}

}  // namespace plumbline
