// SPDX-License-Identifier: BSD-3-Clause
// Reads the source tree as text and reports where it breaks a rule. Works on any folder, so that tests can give it
// trees that break rules.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace plumbline::structure {

/// What a scan looked at, so that an empty scan cannot pass for a clean one, and what it found: "file:line: what is
/// wrong".
struct Findings {
  std::size_t files = 0;
  std::size_t includes = 0;
  std::map<std::string, std::size_t> files_of_component;
  std::vector<std::string> broken;
};

/// Compares each #include of each C++ or CUDA file in every component under `source` with allowances(). In addition, an
/// include of the project's own files must be written from the root ("component/file.hpp"), must exist, and must not
/// be hidden behind a macro.
Findings scan_includes(const std::filesystem::path& source);

/// Finds source files of components that include each other in a cycle; a header and its source count as one.
Findings scan_cycles(const std::filesystem::path& source);

/// Finds source files that are in a folder of components but in none of them.
Findings scan_homeless(const std::filesystem::path& source);

/// Finds source files (C++, CUDA, CMake, Python, shell) of more than `most_lines` lines in components, tests,
/// benchmarks, cmake, fixtures and scripts.
Findings scan_sizes(const std::filesystem::path& source, std::size_t most_lines);

/// Finds string literals (not comments) under `folder` that contain one of `names`, except in the files `but`.
Findings scan_texts(const std::filesystem::path& source, const std::string& folder,
                    const std::vector<std::string>& names, const std::set<std::string>& but);

/// The same in all code.
Findings scan_code(const std::filesystem::path& source, const std::string& folder,
                   const std::vector<std::string>& names, const std::set<std::string>& but);

/// Compares one component's link interface, as CMake reports it, with allowances().
std::vector<std::string> check_link_interface(const std::string& component, const std::vector<std::string>& items);

}  // namespace plumbline::structure
