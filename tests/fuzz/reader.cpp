// SPDX-License-Identifier: BSD-3-Clause
#include "tests/fuzz/reader.hpp"

#include <glob.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/paths.hpp"

namespace plumbline::fuzzing {
namespace {

namespace fs = std::filesystem;

std::vector<Reader>& registered() {
  static std::vector<Reader> all;
  return all;
}

}  // namespace

std::vector<Reader> readers() {
  std::vector<Reader> all = registered();
  std::ranges::sort(all, {}, &Reader::name);
  return all;
}

Registration::Registration(Reader reader) {
  registered().push_back(std::move(reader));
}

std::vector<fs::path> files_like(const std::string& pattern) {
  glob_t found{};
  ::glob((fs::path(testing::source_path()) / pattern).c_str(), 0, nullptr, &found);
  std::vector<fs::path> files(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return files;
}

std::map<std::string, std::vector<fs::path>> seeds() {
  std::map<std::string, std::vector<fs::path>> all;
  std::istringstream list(read_file(fs::path(testing::source_path()) / "tests/fuzz/seeds.txt"));
  for (std::string line; std::getline(list, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::string reader, pattern;
    words >> reader >> pattern;
    const std::vector<fs::path> files = files_like(pattern);
    if (files.empty()) throw std::runtime_error("seeds.txt: " + pattern + " is no file's name");
    all[reader].insert(all[reader].end(), files.begin(), files.end());
  }
  return all;
}

Feeder::Feeder(Reader reader) : reader_(std::move(reader)) {
  std::string name = (fs::temp_directory_path() / "plumbline-fuzz-XXXXXX").string();
  if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder can be made: " + name);
  folder_ = name;
  if (!reader_.beside.empty())
    fs::copy(fs::path(testing::source_path()) / reader_.beside, folder_, fs::copy_options::recursive);
  fs::create_directories((folder_ / reader_.file).parent_path());
}

Feeder::~Feeder() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::optional<std::string> Feeder::feed(std::string_view bytes) const {
  const fs::path file = folder_ / reader_.file;
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!out.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush())
    throw std::runtime_error(file.string() + " cannot be written");
  out.close();
  try {
    reader_.read(folder_, file);
  } catch (const Error& error) {
    return error.what();
  }
  return std::nullopt;
}

}  // namespace plumbline::fuzzing
