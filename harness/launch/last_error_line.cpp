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
#include <vector>

#include "support/plain_text.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

constexpr std::size_t most_characters = 400;  // quoted in a sentence

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
/// unchanged. Such a program ends before it can report this itself.
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
      "{}: {} is loaded, but lacks {}: this program was compiled for another version; remove the other LibTorch from "
      "LD_LIBRARY_PATH and LD_PRELOAD",
      program.substr(program.rfind('/') + 1), loaded_libtorch(), symbol.substr(0, symbol.find_first_of(" ,")));
}

/// "[host:123] ": how Open MPI begins what it logs. Programs of Python may begin with "[train.py:123] ".
bool is_log_line(const std::string& line) {
  const std::size_t colon = line.find_first_of(": \t]");
  if (!line.starts_with('[') || colon == std::string::npos || colon < 2 || line[colon] != ':') return false;
  if (line.substr(0, colon).ends_with(".py")) return false;
  const std::size_t end = line.find_first_not_of("0123456789", colon + 1);
  return end != std::string::npos && end > colon + 1 && line.compare(end, 2, "] ") == 0;
}

/// '-' or '=' if the line is one of many of them, as above and below a banner, else 0.
char rule_of(const std::string& line) {
  constexpr std::size_t least = 20;
  const char kind = line.empty() ? '\0' : line.front();
  return (kind == '-' || kind == '=') && line.size() >= least && line.find_first_not_of(kind) == std::string::npos
             ? kind
             : '\0';
}

/// The launcher only reports that it ends, and which rank ended first.
bool tells_only_the_end(const std::string& banner) {
  constexpr std::array signs = {"Primary job ",      "detected that one or more", "noticed that process rank",
                                "has exited due to", "MPI_ABORT was invoked",     "BAD TERMINATION"};
  return std::ranges::any_of(signs, [&](const char* sign) { return banner.find(sign) != banner.npos; });
}

bool says_something(const std::string& line) {
  return line.find_first_not_of(" \t-*=") != std::string::npos;
}

/// Separates programs' lines from a launcher's banners: text between two rules, and what it logs without
/// a break.
class Sorted {
 public:
  void take(const std::string& line) {
    if (open_ != '\0') {
      if (rule_of(line) == open_) return close();
      inside_.push_back(line);
    } else if (is_log_line(line)) {
      logged_.push_back(line.substr(line.find("] ") + 2));
    } else {
      end_log();
      open_ = rule_of(line);
      if (open_ == '\0' && says_something(line)) last_ = line;
    }
  }
  /// The last line outside of banners; else, in one line, the first banner that has more than the rank that ended; else
  /// the last banner.
  std::string reason() {
    end_log();
    for (const std::string& line : inside_) {  // a rule without a second is none
      if (says_something(line)) last_ = line;
    }
    if (!last_.empty()) return last_.substr(last_.find_first_not_of(" \t"));
    return !first_.empty() ? first_ : end_;
  }

 private:
  void close() {
    keep(inside_);
    open_ = '\0';
  }
  void end_log() { keep(logged_); }
  void keep(std::vector<std::string>& lines) {
    const std::string text = banner_text(join(lines, "\n"));
    lines.clear();
    if (text.empty()) return;
    if (tells_only_the_end(text)) {
      end_ = text;
    } else if (first_.empty()) {
      first_ = text;
    }
  }

  char open_ = '\0';  ///< the rule above the lines `inside_`
  std::vector<std::string> inside_, logged_;
  std::string last_, first_, end_;
};

}  // namespace

std::string banner_text(const std::string& output) {
  std::istringstream lines(output);
  std::string text;
  for (std::string line; std::getline(lines, line) && text.size() < most_characters;) {
    const auto first = line.find_first_not_of(" \t*");
    if (first == std::string::npos || !says_something(line)) continue;
    text += (text.empty() ? "" : " ") + line.substr(first);
  }
  if (text.size() <= most_characters) return text;
  text.resize(most_characters);
  return text.append(" ...");
}

bool is_own_line(const std::string& line, const std::string& program) {
  static const std::regex of_a_rank(R"(rank \d+ ended the run: .*)");
  return (!program.empty() && line.starts_with(program + ": ")) || std::regex_match(line, of_a_rank);
}

std::string last_error_line(const std::filesystem::path& output, const std::string& program,
                            std::uintmax_t most_bytes) {
  std::ifstream in(output);
  std::string own;
  Sorted others;
  std::uintmax_t begin = 0;
  for (std::string line; begin < most_bytes && std::getline(in, line);) {
    begin += line.size() + 1;
    if (const auto returned = line.rfind('\r'); returned != std::string::npos) line.erase(0, returned + 1);
    line = in_words(line);
    if (line.size() <= most_characters && is_own_line(line, program)) own = line;
    others.take(line);
  }
  std::string words = own.empty() ? others.reason() : own;
  if (words.size() > most_characters) words = words.substr(0, most_characters) + " ...";
  return printable(words);
}

}  // namespace plumbline
