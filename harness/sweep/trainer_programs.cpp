// SPDX-License-Identifier: BSD-3-Clause
#include "harness/sweep/trainer_programs.hpp"

#include <sstream>

namespace plumbline {

std::string trainers_help() {
  return std::string("Folder of ").append(reference_program).append(" and ").append(pipeline_program) +
         " (default: this program's folder)";
}

std::vector<std::string> launcher_words(const std::string& launcher, std::int64_t world) {
  std::istringstream in(launcher);
  std::vector<std::string> words;
  for (std::string word; in >> word;) {
    for (std::size_t at = 0; (at = word.find("{world}", at)) != std::string::npos;) {
      word.replace(at, 7, std::to_string(world));
    }
    words.push_back(word);
  }
  return words;
}

}  // namespace plumbline
