// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/original_words.hpp"

namespace plumbline {

namespace fs = std::filesystem;

std::string with_original(std::string words, const fs::path& copy, const fs::path& original) {
  const std::string name = copy.string();
  if (const auto at = words.find(name); at != std::string::npos) {
    const auto end = words.find_first_not_of("0123456789:", at + name.size());
    const bool key_follows = end != std::string::npos && words[end] == ',';
    words.replace(at, end == std::string::npos ? end : end - at, original.string() + (key_follows ? "" : ":"));
  } else {
    words = original.string() + ": " + words;
  }
  return words;
}

}  // namespace plumbline
