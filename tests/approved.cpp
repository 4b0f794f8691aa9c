// SPDX-License-Identifier: BSD-3-Clause
#include "tests/approved.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/paths.hpp"

namespace plumbline::testing {
namespace {

std::filesystem::path path_of(const std::string& name) {
  return std::filesystem::path(source_path()) / "tests/approved" / name;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

void expect_approved(const std::string& name, const std::string& text) {
  const std::filesystem::path path = path_of(name);
  if (std::getenv("PLUMBLINE_APPROVE") != nullptr) std::ofstream(path, std::ios::binary) << text;
  const auto approved = lines_of(bytes_of(path)), now = lines_of(text);
  for (std::size_t i = 0; i < std::max(approved.size(), now.size()); ++i) {
    const std::string none = "(no line)";
    ASSERT_EQ(i < now.size() ? now[i] : none, i < approved.size() ? approved[i] : none)
        << "tests/approved/" << name << ":" << i + 1 << "; PLUMBLINE_APPROVE=1 accepts the new text";
  }
}

void expect_answers(const std::string& name, const std::function<std::string(const std::string& input)>& answer) {
  std::string text, input;
  std::size_t cases = 0;
  const auto end_case = [&] {
    if (input.empty()) return;
    std::string said = answer(input);
    for (std::size_t at = 0; (at = said.find('\n', at)) != std::string::npos; at += 4) said.replace(at, 1, "\n   ");
    text += input + "=> " + said + "\n";
    input.clear();
    ++cases;
  };
  bool answered = false;
  for (const std::string& line : lines_of(bytes_of(path_of(name)))) {
    if (line.empty()) {
      end_case();
      text += "\n";
      answered = false;
    } else if (line.starts_with("#")) {
      text += line + "\n";
    } else if (!(answered |= line.starts_with("=> "))) {
      input += line + "\n";
    }
  }
  end_case();
  EXPECT_GT(cases, 0U) << "tests/approved/" << name << " has no case";
  expect_approved(name, text);
}

std::string in_folder(const TemporaryFolder& folder, std::string text) {
  const std::string path = folder.path().string();
  for (std::size_t at = 0; (at = text.find(path, at)) != std::string::npos;) text.replace(at, path.size(), ".");
  return text;
}

}  // namespace plumbline::testing
