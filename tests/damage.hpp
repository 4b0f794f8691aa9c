// SPDX-License-Identifier: BSD-3-Clause
// Damages files as a disk, an editor or a person may. A seed alone decides how, the same on every machine.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {

class RandomDamage {
 public:
  explicit RandomDamage(std::uint64_t seed) : random_(seed) {}

  std::string of(std::string text) {
    for (std::size_t times = 1 + below(3); times > 0; --times) once(text);
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(random_() % end); }

  template <typename Values>
  const auto& one_of(const Values& values) {
    return values[below(values.size())];
  }

  void once(std::string& text) {
    const std::size_t at = below(text.size() + 1), end = std::min(text.size(), at + 1 + below(40));
    switch (below(9)) {
      case 0:
        return replace(text, at, std::min(at + 1, text.size()), std::string(1, static_cast<char>(random_())));
      case 1:
        return replace(text, at, at, one_of(odd_texts));
      case 2:
        return replace(text, at, end, "");
      case 3:
        return replace(text, at, text.size(), "");
      case 4:
        return replace(text, below(text.size() + 1), at, text.substr(at, end - at));
      case 5:
      case 6:
        return change_value(text, at, "0123456789", one_of(odd_numbers));
      case 7:
        return change_value(text, at, "0123456789.eE+-\"abcdefghijklmnopqrstuvwxyz_/", one_of(odd_values));
      default:
        return replace(text, at, at, std::string(one_of(std::vector<std::size_t>{1, 70, 100000}), one_of(brackets)));
    }
  }

  static void replace(std::string& text, std::size_t begin, std::size_t end, const std::string& by) {
    text.replace(std::min(begin, end), std::max(begin, end) - std::min(begin, end), by);
  }

  /// The next run of these characters.
  static void change_value(std::string& text, std::size_t at, const char* characters, const std::string& by) {
    const std::size_t begin = text.find_first_of(characters, at);
    if (begin == std::string::npos) return;
    replace(text, begin, std::min(text.find_first_not_of(characters, begin), text.size()), by);
  }

  const std::vector<std::string> odd_texts = {std::string(1, '\0'),
                                              "\xFF",
                                              "\xC3",
                                              "\xED\xA0\x80",
                                              "\x1B",
                                              "\r",
                                              "\n",
                                              "\"",
                                              "'",
                                              ",",
                                              ";",
                                              "=",
                                              "[",
                                              "]",
                                              "[[",
                                              "{",
                                              "}",
                                              "(",
                                              ")",
                                              ":",
                                              "#",
                                              "\xC3\xA9",
                                              "\\u0000",
                                              "\\",
                                              " ",
                                              "\t",
                                              ".",
                                              "-",
                                              "nan",
                                              "inf"};
  const std::vector<std::string> odd_numbers = {"0",
                                                "-1",
                                                "1",
                                                "2147483647",
                                                "2147483648",
                                                "1000000000000",
                                                "9223372036854775807",
                                                "9223372036854775808",
                                                "18446744073709551615",
                                                "99999999999999999999999",
                                                "1e999",
                                                "0.5",
                                                "-0",
                                                "007",
                                                ""};
  const std::vector<std::string> odd_values = {"null",  "true", "[]", "{}",    "\"\"",
                                               "\"x\"", "[[]]", "-5", "1e308", "nan"};
  const std::string brackets = "[{(\"";
  std::mt19937_64 random_;
};

/// Damages the file at `path` in `times` ways, one after the other, and reads it after each. The reader must accept it,
/// or refuse it with an InputError that names one of `names`. Restores the file at the end. Returns how often the
/// reader refused it.
inline int read_damaged(const std::filesystem::path& path, int times, const std::vector<std::string>& names,
                        const std::function<void()>& read) {
  const std::string right = bytes_of(path);
  int refused = 0;
  for (int seed = 1; seed <= times; ++seed) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << RandomDamage(static_cast<std::uint64_t>(seed)).of(right);
    try {
      read();
    } catch (const InputError& error) {
      ++refused;
      const std::string words = error.what();
      EXPECT_TRUE(std::ranges::any_of(names, [&](const auto& name) { return words.find(name) != std::string::npos; }))
          << path << ", seed " << seed << ": " << words;
    } catch (const std::exception& error) {
      ADD_FAILURE() << path << ", seed " << seed << ": " << error.what();
    }
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << right;
  return refused;
}

}  // namespace plumbline::testing
