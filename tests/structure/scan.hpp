// SPDX-License-Identifier: BSD-3-Clause
// Reads the source tree as text and says where it breaks a rule. Works on any folder, so that planted trees can show
// that it does.
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

/// Holds each #include of each C++ or CUDA file in every component under `source` against allowances(). Beyond the
/// table, an include of the project's own must be written from the root ("component/file.hpp"), must exist, and must
/// not be hidden behind a macro.
Findings scan_includes(const std::filesystem::path& source);

/// Finds source files of components that include each other in a circle, a header and its source being one.
Findings scan_cycles(const std::filesystem::path& source);

/// Finds source files in a folder that holds components, but in none of them.
Findings scan_homeless(const std::filesystem::path& source);

/// Finds source files (C++, CUDA, CMake, Python, shell) of more than `most_lines` lines in components, tests,
/// benchmarks, cmake, fixtures and scripts.
Findings scan_sizes(const std::filesystem::path& source, std::size_t most_lines);

/// Finds texts in the sources below `folder` that hold one of `names`, save in the files `but`: literals, not comments.
Findings scan_texts(const std::filesystem::path& source, const std::string& folder,
                    const std::vector<std::string>& names, const std::set<std::string>& but);

/// The same anywhere in the code.
Findings scan_code(const std::filesystem::path& source, const std::string& folder,
                   const std::vector<std::string>& names, const std::set<std::string>& but);

/// Holds one component's link interface, as CMake reports it, against allowances().
std::vector<std::string> check_link_interface(const std::string& component, const std::vector<std::string>& items);

}  // namespace plumbline::structure
