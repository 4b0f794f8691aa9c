// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/linked_libraries.hpp"

#include <algorithm>
#include <fstream>

#include "harness/launch/launcher.hpp"
#include "harness/launch/scratch_folder.hpp"
#include "support/error.hpp"

namespace plumbline {

namespace fs = std::filesystem;

std::vector<fs::path> linked_libraries(const fs::path& program) {
  try {
    find_program("ldd");
  } catch (const SystemError&) {
    return {};
  }
  const ScratchFolder answers;
  Launch question;
  question.command = {"ldd", fs::absolute(program).string()};
  question.folder = answers.path();
  question.time_limit = std::chrono::seconds(30);
  StopSignals signals;
  const auto finding = launch(question, signals);
  if (finding.interrupted) throw SystemError(finding.words + " before anything started");
  std::vector<fs::path> libraries;
  std::ifstream in(question.folder / "stdout.txt");
  for (std::string line; std::getline(in, line);) {  // "libm.so.6 => /lib/libm.so.6 (0x00007f...)"
    const auto arrow = line.find(" => /"), end = line.rfind(" (0x");
    if (arrow == std::string::npos || end == std::string::npos) continue;
    libraries.emplace_back(line.substr(arrow + 4, end - arrow - 4));
  }
  std::ranges::sort(libraries);
  return libraries;
}

}  // namespace plumbline
