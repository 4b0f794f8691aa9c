// SPDX-License-Identifier: BSD-3-Clause
#include "training/token_source.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "support/error.hpp"
#include "support/machine_memory.hpp"
#include "support/mapped_file.hpp"
#include "support/paths.hpp"
#include "support/text.hpp"
#include "training/token_format.hpp"

namespace plumbline {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> text_files(const fs::path& path) {
  if (!folder_exists(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file() && entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  if (files.empty()) {
    throw InputError(path.string() + ": the folder holds no .txt file; put a text there or name another in data.text");
  }
  std::ranges::sort(files);
  return files;
}

/// The files of one entry of `key`.
std::vector<fs::path> files_of(const fs::path& named, const std::string& key) {
  std::vector<fs::path> files;
  for (fs::path file : files_matching(named)) {
    if (file.extension() == ".idx") {
      const fs::path index = file;
      file.replace_extension(".bin");
      if (!path_exists(file)) {
        throw InputError(index.string() + ": is an index without its " + file.filename().string() +
                         "; the tokens themselves are missing");
      }
    }
    files.push_back(file);
  }
  std::ranges::sort(files, {}, [](const fs::path& each) { return each.string(); });
  files.erase(std::unique(files.begin(), files.end()), files.end());  // a .bin and its .idx are one file of tokens
  if (files.empty()) {
    const bool pattern = named.string().find_first_of("*?[") != std::string::npos;
    throw InputError(named.string() + (pattern ? ": matches no file" : ": does not exist") +
                     "; name existing files in " + key);
  }
  return files;
}

std::vector<fs::path> distinct_files(const std::vector<fs::path>& names, const std::string& key) {
  std::vector<fs::path> files;
  std::set<fs::path> known;
  for (const fs::path& named : names) {
    for (fs::path& file : files_of(named, key)) {
      if (!known.insert(file).second) {
        throw InputError(file.string() + ": " + key + " names it twice, the second time as " + named.string());
      }
      files.push_back(std::move(file));
    }
  }
  return files;
}

}  // namespace

std::vector<fs::path> token_files(const DataSettings& data) {
  if (data.text) return text_files(*data.text);
  if (data.tokens.empty()) throw std::logic_error("data settings without a text and without tokens");
  return distinct_files(data.tokens, "data.tokens");
}

std::vector<fs::path> ignore_files(const DataSettings& data) {
  return distinct_files(data.ignore, "data.ignore");
}

std::string source_text(const DataSettings& data) {
  if (data.text) return data.text->generic_string();
  std::vector<std::string> names;
  for (const fs::path& named : data.tokens) names.push_back(named.generic_string());
  return join(names, ", ");
}

std::optional<std::int64_t> tokens_by_size(const DataSettings& data) {
  const auto absent = [](const fs::path& named) { return files_matching(named).empty(); };
  if (data.text ? absent(*data.text) : std::ranges::any_of(data.tokens, absent)) return std::nullopt;
  std::int64_t tokens = 0;
  for (const fs::path& file : token_files(data)) {
    std::error_code no_file;
    const auto size = fs::file_size(file, no_file);
    if (no_file) return std::nullopt;
    const auto count = data.text ? static_cast<std::int64_t>(size)
                                 : token_format(file, MappedFile(file).bytes(), data.token_type).count;
    tokens = sum_of_sizes({tokens, count});
  }
  return tokens;
}

void refuse_short_source(const DataSettings& data, std::int64_t available, std::int64_t needed) {
  if (available >= needed) return;
  throw InputError(source_text(data) + " is too short: it holds " + std::to_string(available) +
                   " tokens, one step needs " + std::to_string(needed) +
                   ". Give a longer text, or smaller data.lengths, data.microbatches or data.batch");
}

}  // namespace plumbline
