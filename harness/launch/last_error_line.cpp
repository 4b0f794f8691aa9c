// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/last_error_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string_view>
#include <system_error>

#include "support/plain_text.hpp"

namespace plumbline {
namespace {

std::string loaded_libtorch() {
  const char* searched = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(searched == nullptr ? "" : searched);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code unreadable;
    if (std::filesystem::exists(folder + "/libtorch_cpu.so", unreadable)) return "the LibTorch in " + folder;
  }
  return "another LibTorch";
}

/// The loader's line about a program that was started with another LibTorch than its own, in words; other lines
/// unchanged. Such a program ends before it can say so itself.
std::string in_words(const std::string& line) {
  // No std::regex: it recurses once per character, and a line may have any length.
  constexpr std::string_view lookup = ": symbol lookup error: ", undefined = "undefined symbol: ";
  const std::size_t end = line.find(lookup), name = line.find(undefined, end);
  if (end == std::string::npos || name == std::string::npos) return line;
  const std::string program = line.substr(0, end), symbol = line.substr(name + undefined.size());
  constexpr std::array scopes = {"N5torch", "NK5torch", "N3c10", "NK3c10", "N2at", "NK2at"};
  const bool of_libtorch =
      std::ranges::any_of(scopes, [&](const char* scope) { return symbol.find(scope) != std::string::npos; });
  if (!symbol.starts_with("_Z") || !of_libtorch) return line;
  return fmt::format(
      "{}: {} is loaded, which lacks {}: this program was compiled for another version; remove the other LibTorch from "
      "LD_LIBRARY_PATH and LD_PRELOAD",
      program.substr(program.rfind('/') + 1), loaded_libtorch(), symbol.substr(0, symbol.find_first_of(" ,")));
}

}  // namespace

bool is_own_line(const std::string& line, const std::string& program) {
  static const std::regex of_a_rank(R"(rank \d+ ended the run: .*)");
  return (!program.empty() && line.starts_with(program + ": ")) || std::regex_match(line, of_a_rank);
}

std::string last_error_line(const std::filesystem::path& output, const std::string& program,
                            std::uintmax_t most_bytes) {
  std::ifstream in(output);
  constexpr std::size_t most_characters = 400;  // of a line quoted in a sentence
  std::string own, any;
  std::uintmax_t begin = 0;
  for (std::string line; begin < most_bytes && std::getline(in, line);) {
    begin += line.size() + 1;
    if (const auto returned = line.rfind('\r'); returned != std::string::npos) line.erase(0, returned + 1);
    line = in_words(line);
    if (line.size() <= most_characters && is_own_line(line, program)) own = line;
    if (line.find_first_not_of(" \t-*=") != std::string::npos) any = line.substr(line.find_first_not_of(" \t"));
  }
  std::string words = own.empty() ? any : own;
  if (words.size() > most_characters) words = words.substr(0, most_characters) + " ...";
  return printable(words);
}

}  // namespace plumbline
