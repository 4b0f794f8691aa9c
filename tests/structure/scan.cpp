// SPDX-License-Identifier: BSD-3-Clause
#include "tests/structure/scan.hpp"

#include <algorithm>
#include <fstream>
#include <regex>

#include "tests/structure/arrows.hpp"

namespace plumbline::structure {
namespace fs = std::filesystem;
namespace {

std::vector<fs::path> files_under(const fs::path& folder, const std::set<std::string>& extensions) {
  std::vector<fs::path> files;
  if (!fs::is_directory(folder)) return files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const bool wanted = extensions.contains(entry.path().extension().string()) ||
                        (extensions.contains("CMakeLists.txt") && entry.path().filename() == "CMakeLists.txt");
    if (entry.is_regular_file() && wanted) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// Why `component` may not include `header`; empty when it may.
std::string objection(const fs::path& source, const std::string& component, const std::string& header, bool quoted) {
  const Allowance& may = allowances().at(component);
  const std::string used = component_of(header);
  if (!used.empty()) {
    if (used != component && !may.components.contains(used)) return component + " may not use " + used;
    if (!fs::exists(source / header)) return "there is no " + header;
    return "";
  }
  if (quoted) return "\"" + header + "\" is not written as \"component/file.hpp\" from the project's root";
  const std::string library = library_of_header(header);
  if (!library.empty() && !may.libraries.contains(library))
    return component + " may not use " + library + " (" + header + ")";
  if (!may.threads && is_thread_header(header)) return component + " may not use threads (" + header + ")";
  return "";
}

/// Finds `names` in the part of each line that `part` returns, without comments; skips include lines.
template <typename Part>
Findings scan_lines(const fs::path& source, const std::string& folder, const std::vector<std::string>& names,
                    const std::set<std::string>& but, Part part) {
  Findings findings;
  for (const fs::path& file : files_under(source / folder, {".cpp", ".hpp"})) {
    const std::string path = file.lexically_relative(source).generic_string();
    ++findings.files;
    if (but.contains(path)) continue;
    std::ifstream stream(file);
    std::string line;
    for (std::size_t number = 1; std::getline(stream, line); ++number) {
      if (line.starts_with("#include")) continue;
      const std::string looked_at = part(line.substr(0, line.find("//")));
      for (const std::string& name : names) {
        if (looked_at.find(name) != std::string::npos)
          findings.broken.push_back(path + ":" + std::to_string(number) + ": names " + name);
      }
    }
  }
  return findings;
}

}  // namespace

Findings scan_includes(const fs::path& source) {
  static const std::regex directive(R"(^\s*#\s*include\b\s*(.*)$)");
  static const std::regex named(R"re(^(?:<([^>]+)>|"([^"]+)").*$)re");
  Findings findings;
  for (const auto& [component, may] : allowances()) {
    for (const fs::path& file :
         files_under(source / component, {".cpp", ".hpp", ".h", ".cc", ".c", ".cu", ".cuh", ".inl"})) {
      ++findings.files;
      ++findings.files_of_component[component];
      std::ifstream stream(file);
      std::string line;
      for (std::size_t number = 1; std::getline(stream, line); ++number) {
        std::smatch include, name;
        if (!std::regex_match(line, include, directive)) continue;
        ++findings.includes;
        const std::string what = include[1].str();
        const std::string why =
            !std::regex_match(what, name, named)
                ? "an #include behind a macro cannot be checked"
                : objection(source, component, name[1].matched ? name[1].str() : name[2].str(), name[2].matched);
        if (!why.empty()) {
          findings.broken.push_back(fs::relative(file, source).string() + ":" + std::to_string(number) + ": " + why);
        }
      }
    }
  }
  return findings;
}

Findings scan_code(const fs::path& source, const std::string& folder, const std::vector<std::string>& names,
                   const std::set<std::string>& but) {
  return scan_lines(source, folder, names, but, [](const std::string& code) { return code; });
}

Findings scan_texts(const fs::path& source, const std::string& folder, const std::vector<std::string>& names,
                    const std::set<std::string>& but) {
  return scan_lines(source, folder, names, but, [](const std::string& code) {
    static const std::regex text(R"re("(?:[^"\\]|\\.)*")re");
    std::string literals;
    for (std::sregex_iterator at(code.begin(), code.end(), text), end; at != end; ++at) literals += at->str();
    return literals;
  });
}

Findings scan_cycles(const fs::path& source) {
  static const std::regex directive(R"re(^\s*#\s*include\s*"([^"]+)".*$)re");
  Findings findings;
  std::map<std::string, std::set<std::string>> uses;
  for (const auto& [component, may] : allowances()) {
    for (const fs::path& file : files_under(source / component, {".cpp", ".hpp", ".cu"})) {
      const std::string unit = fs::relative(file, source).replace_extension().string();
      ++findings.files;
      std::ifstream stream(file);
      for (std::string line; std::getline(stream, line);) {
        std::smatch include;
        if (!std::regex_match(line, include, directive)) continue;
        const std::string used = fs::path(include[1].str()).replace_extension().string();
        // Across top-level folders the component table already allows no cycle.
        const bool near = used.substr(0, used.find('/')) == unit.substr(0, unit.find('/'));
        if (used != unit && near && !component_of(include[1].str()).empty())
          uses[unit].insert(used), ++findings.includes;
      }
    }
  }
  // A file that is on no cycle can be removed: at one end files that use no remaining file, at the other files that no
  // remaining file uses.
  for (bool taken = true; taken;) {
    taken = false;
    std::set<std::string> used;
    for (const auto& [unit, others] : uses) used.insert(others.begin(), others.end());
    for (auto unit = uses.begin(); unit != uses.end();) {
      std::erase_if(unit->second, [&](const std::string& other) { return !uses.contains(other); });
      if (!used.contains(unit->first)) unit->second.clear();
      taken = taken || unit->second.empty();
      unit = unit->second.empty() ? uses.erase(unit) : std::next(unit);
    }
  }
  for (const auto& [unit, used] : uses) {
    std::string words = unit + " is on a cycle of includes, by";
    for (const auto& other : used) words += " " + other;
    findings.broken.push_back(words);
  }
  return findings;
}

Findings scan_homeless(const fs::path& source) {
  Findings findings;
  for (const auto& [component, may] : allowances()) {
    for (const fs::path& file : files_under(source / fs::path(component).begin()->string(), {".cpp", ".hpp", ".cu"})) {
      ++findings.files;
      const std::string path = fs::relative(file, source).string();
      if (component_of(path).empty()) findings.broken.push_back(path + ": lies in no component");
    }
  }
  return findings;
}

Findings scan_sizes(const fs::path& source, std::size_t most_lines) {
  std::vector<std::string> folders{"tests", "benchmarks", "cmake", "fixtures", "scripts"};
  for (const auto& [component, may] : allowances()) folders.push_back(component);
  Findings findings;
  for (const std::string& folder : folders) {
    for (const fs::path& file : files_under(
             source / folder, {".cpp", ".hpp", ".h", ".cu", ".cuh", ".cmake", ".py", ".sh", "", "CMakeLists.txt"})) {
      std::ifstream stream(file);
      std::size_t lines = 0;
      for (std::string line; std::getline(stream, line);) ++lines;
      ++findings.files;
      if (lines > most_lines) {
        findings.broken.push_back(fs::relative(file, source).string() + ": " + std::to_string(lines) + " lines, " +
                                  std::to_string(most_lines) + " are allowed");
      }
    }
  }
  return findings;
}

std::vector<std::string> check_link_interface(const std::string& component, const std::vector<std::string>& items) {
  const Allowance& may = allowances().at(component);
  std::vector<std::string> broken;
  for (const std::string& item : items) {
    std::string target = item.starts_with("plumbline::") ? item.substr(11) : item;
    if (target.starts_with("harness_")) target[7] = '/';  // a target's name has no slash
    const std::string library = library_of_link_item(target);
    if (allowances().contains(target)) {
      if (!may.components.contains(target)) broken.push_back(component + " links the component " + target);
    } else if (library == "threads" ? !may.threads : !library.empty() && !may.libraries.contains(library)) {
      broken.push_back(component + " links " + item);
    }
  }
  return broken;
}

}  // namespace plumbline::structure
