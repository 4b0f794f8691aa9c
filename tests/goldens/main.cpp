// SPDX-License-Identifier: BSD-3-Clause
// plumbline-golden [--device cuda] DIR...: compares the model with goldens; exits with 0 or 1.
#include <iostream>
#include <string>
#include <vector>

#include "support/error.hpp"
#include "tests/goldens/judge_goldens.hpp"

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> folders(argv + 1, argv + argc);
  std::string device = "cpu";
  if (folders.size() > 1 && folders[0] == "--device") {
    device = folders[1].string();
    folders.erase(folders.begin(), folders.begin() + 2);
  }
  return plumbline::run_main("plumbline-golden", [&] { return plumbline::judge_goldens(folders, std::cout, device); });
}
