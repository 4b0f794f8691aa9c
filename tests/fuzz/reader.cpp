// SPDX-License-Identifier: BSD-3-Clause
#include "tests/fuzz/reader.hpp"

#include <stdlib.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "support/error.hpp"

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

Feeder::Feeder(Reader reader) : reader_(std::move(reader)) {
  std::string name = (fs::temp_directory_path() / "plumbline-fuzz-XXXXXX").string();
  if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder can be made: " + name);
  folder_ = name;
  if (!reader_.beside.empty())
    fs::copy(fs::path(PLUMBLINE_SOURCE) / reader_.beside, folder_, fs::copy_options::recursive);
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
