// SPDX-License-Identifier: BSD-3-Clause
#include "support/toml_characters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "support/error.hpp"
#include "support/plain_text.hpp"

namespace plumbline {
namespace {

bool is_ascii(char byte) {
  return static_cast<unsigned char>(byte) < 0x80U;
}

/// Scans a TOML text once. It may interpret the text after a syntax error differently from the parser, which stops
/// there.
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

  std::size_t run_of(char quote) const {
    const std::size_t end = bytes_.find_first_not_of(quote, at_);
    return std::min(end, bytes_.size()) - at_;
  }

  void take_string(char quote) {
    const bool multi_line = run_of(quote) >= 3;
    take(multi_line ? 3 : 1);
    while (at_ < bytes_.size()) {
      if (bytes_[at_] == quote && (!multi_line || run_of(quote) >= 3)) {
        return take(multi_line ? std::min<std::size_t>(run_of(quote), 5)
                               : 1);  // """" ends with a quote that belongs to the text
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
    throw InputError(fmt::format("{}:{}: not valid TOML: {}", path_.string(), place_in_text(bytes_, at_), why));
  }

  const std::filesystem::path& path_;
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::string text_;
};

}  // namespace

std::string with_blanks_in_ascii(const std::filesystem::path& path, std::string_view bytes) {
  if (std::all_of(bytes.begin(), bytes.end(), is_ascii)) return std::string(bytes);
  return Walk(path, bytes).rewritten();
}

}  // namespace plumbline
