// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/last_error_line.hpp"

#include <fstream>
#include <regex>

namespace plumbline {

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
    if (line.size() <= most_characters && is_own_line(line, program)) own = line;
    if (line.find_first_not_of(" \t-*=") != std::string::npos) any = line.substr(line.find_first_not_of(" \t"));
  }
  std::string words = own.empty() ? any : own;
  if (words.size() > most_characters) words = words.substr(0, most_characters) + " ...";
  return words;
}

}  // namespace plumbline
