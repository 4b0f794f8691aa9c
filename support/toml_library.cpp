// SPDX-License-Identifier: BSD-3-Clause
#undef NDEBUG                // with NDEBUG the library would assume what it asserts
#define TOML_IMPLEMENTATION  // this file compiles the library's code
#include "support/toml_library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "support/error.hpp"
#include "support/plain_text.hpp"

namespace plumbline {
namespace {

struct AssertionFailed {};

/// Nested tables are destroyed recursively: the stack must suffice for the deepest file.
constexpr std::size_t deepest_key = 100;

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& place, const std::string& what) {
  throw InputError(fmt::format("{}:{}: not valid TOML: {}", path.string(), place, what));
}

bool is_ascii(char byte) {
  return static_cast<unsigned char>(byte) < 0x80U;
}

/// Rewrites a TOML text so that the parser never sees non-ASCII characters where it looks for blanks: its table of
/// blanks has a branch declared unreachable, which many of them reach. The first character after a line-ending
/// backslash is escaped (\U000000E9); outside of strings and comments, and right after a backslash in a multi-line
/// string, such a character is invalid TOML. May interpret the text after a syntax error differently from the parser,
/// which stops there.
class Walk {
 public:
  Walk(const std::filesystem::path& path, std::string_view bytes) : path_(path), bytes_(bytes) {}

  std::string rewritten() {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (bytes_.starts_with(byte_order_mark)) take(byte_order_mark.size());
    while (at_ < bytes_.size()) {
      const char byte = bytes_[at_];
      if (byte == '#') {
        take(std::min(bytes_.find('\n', at_), bytes_.size()) - at_);
      } else if (byte == '"' || byte == '\'') {
        take_string(byte);
      } else {
        refuse_beyond_ascii("not allowed here; a key is made of A-Z, a-z, 0-9, _ and -, or is quoted");
        take(1);
      }
    }
    return std::move(text_);
  }

 private:
  void take(std::size_t count) {
    text_.append(bytes_.substr(at_, count));
    at_ = std::min(at_ + count, bytes_.size());
  }

  /// Number of quotes here, at most 5: longer runs end no other string, and must not be counted again at each quote.
  std::size_t run_of(char quote) const {
    const std::string_view rest = bytes_.substr(at_, 5);
    return std::min(rest.find_first_not_of(quote), rest.size());
  }

  void take_string(char quote) {
    const bool multi_line = run_of(quote) >= 3;
    take(multi_line ? 3 : 1);
    while (at_ < bytes_.size()) {
      if (bytes_[at_] == quote && (!multi_line || run_of(quote) >= 3)) {
        return take(multi_line ? run_of(quote) : 1);  // """" ends with a quote that belongs to the text
      }
      if (bytes_[at_] == '\n' && !multi_line) return;
      const bool escapes = bytes_[at_] == '\\' && quote == '"';
      take(1);
      if (!escapes) continue;
      if (multi_line) {
        take_blanks_after_backslash();
      } else {
        take(1);
      }
    }
  }

  void take_blanks_after_backslash() {
    refuse_beyond_ascii("no such escape");
    const std::size_t end = std::min(bytes_.find_first_not_of(" \t\r\n", at_), bytes_.size());
    if (end == at_) return take(1);
    take(end - at_);
    if (end < bytes_.size() && !is_ascii(bytes_[end])) take_escaped();
  }

  /// Replaces one character of two to four bytes by \UXXXXXXXX.
  void take_escaped() {
    const auto lead = static_cast<unsigned char>(bytes_[at_++]);
    std::uint32_t code = lead >= 0xF0U ? lead & 0x07U : lead >= 0xE0U ? lead & 0x0FU : lead & 0x1FU;
    for (; at_ < bytes_.size() && (static_cast<unsigned char>(bytes_[at_]) & 0xC0U) == 0x80U; ++at_) {
      code = code << 6U | (static_cast<unsigned char>(bytes_[at_]) & 0x3FU);
    }
    text_ += fmt::format("\\U{:08X}", code);
  }

  void refuse_beyond_ascii(const char* why) const {
    if (at_ >= bytes_.size() || is_ascii(bytes_[at_])) return;
    refuse(path_, place_in_text(bytes_, at_), why);
  }

  const std::filesystem::path& path_;
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::string text_;
};

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
  const std::string text = Walk(path, bytes).rewritten();
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
