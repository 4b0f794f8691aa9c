// SPDX-License-Identifier: BSD-3-Clause
#include "tests/structure/linked.hpp"

#include <array>
#include <cstdio>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace plumbline::structure {

std::set<std::string> loaded_libraries(const std::filesystem::path& program) {
  if (!std::filesystem::exists(program)) throw std::runtime_error("there is no program " + program.string());
  FILE* pipe = popen(("ldd '" + program.string() + "' 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("ldd could not be started");
  std::string output;
  std::array<char, 4096> block;
  for (std::size_t n = 0; (n = fread(block.data(), 1, block.size(), pipe)) > 0;) output.append(block.data(), n);
  if (pclose(pipe) != 0) throw std::runtime_error("ldd " + program.string() + ": " + output);

  std::set<std::string> names;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("not found") != std::string::npos) throw std::runtime_error(program.string() + " lacks " + line);
    std::istringstream words(line);
    std::string name;
    words >> name;
    names.insert(std::filesystem::path(name).filename().string());
  }
  return names;
}

}  // namespace plumbline::structure
