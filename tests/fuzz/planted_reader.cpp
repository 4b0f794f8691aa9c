// SPDX-License-Identifier: BSD-3-Clause
// A faulty reader: it trusts the length that a file announces. scripts/fuzz lets libFuzzer find this first, to show
// that the fuzzer works.
#include <cstdint>
#include <cstring>

#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/fuzz/reader.hpp"

namespace plumbline::fuzzing {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "HEAD";

std::size_t read_unchecked(const fs::path& file) {
  const std::string bytes = read_file(file);
  std::uint16_t length = 0;
  if (!bytes.starts_with(magic) || bytes.size() < magic.size() + sizeof length)
    throw InputError(file.string() + ": is no such file, or truncated");
  std::memcpy(&length, bytes.data() + magic.size(), sizeof length);
  std::size_t braces = 0;
  for (std::size_t i = 0; i < length; ++i) braces += bytes.data()[magic.size() + sizeof length + i] == '{' ? 1u : 0u;
  return braces;
}

const Registration planted({planted_reader, "header",
                            [](const fs::path&, const fs::path& file) { static_cast<void>(read_unchecked(file)); }});

}  // namespace
}  // namespace plumbline::fuzzing
