// SPDX-License-Identifier: BSD-3-Clause
#include "training/tokens.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/error.hpp"
#include "tests/approved.hpp"
#include "tests/split.hpp"
#include "tests/token_file_bytes.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using testing::split;
using testing::TemporaryFolder;

/// The bytes of "1,2,5..9".
template <typename Number>
std::string bytes_of_numbers(const std::string& text) {
  std::vector<Number> values;
  for (const std::string& each : split(text, ',')) {
    const auto dots = each.find("..");
    if (dots == std::string::npos) {
      values.push_back(static_cast<Number>(std::stoll(each)));
    } else {
      for (auto value = std::stoll(each); value <= std::stoll(each.substr(dots + 2)); ++value)
        values.push_back(static_cast<Number>(value));
    }
  }
  return testing::numbers(values);
}

/// What a word of a case's file adds to its bytes.
void add_part(std::string& bytes, const std::string& word) {
  const std::string kind = word.substr(0, word.find(':')), value = word.substr(word.find(':') + 1);
  const std::string rest = value.substr(value.find(',') + 1);
  if (kind == "text") bytes += value;
  if (kind == "zeros") bytes += std::string(std::stoul(value), '\0');
  if (kind == "u8") bytes += bytes_of_numbers<std::uint8_t>(value);
  if (kind == "i16") bytes += bytes_of_numbers<std::int16_t>(value);
  if (kind == "u16") bytes += bytes_of_numbers<std::uint16_t>(value);
  if (kind == "i32") bytes += bytes_of_numbers<std::int32_t>(value);
  if (kind == "u32") bytes += bytes_of_numbers<std::uint32_t>(value);
  if (kind == "i64") bytes += bytes_of_numbers<std::int64_t>(value);
  if (kind == "cut") bytes.resize(std::stoul(value));
  if (kind == "at") bytes.at(std::stoul(value)) = static_cast<char>(std::stoi(rest));
  if (kind == "npy") bytes += testing::numpy_header(value.substr(0, value.find(',')), rest);
  if (kind == "llmc") {
    const auto numbers = split(value, ',');
    bytes += testing::llmc_header(std::stoi(numbers.at(0)), std::stoi(numbers.at(1)), std::stoi(numbers.at(2)));
  }
  if (kind == "idx") {
    std::vector<std::int32_t> numbers;
    for (const std::string& each : split(value, ',')) numbers.push_back(std::stoi(each));
    bytes += testing::megatron_index(static_cast<std::uint8_t>(numbers.at(0)), numbers.at(1),
                                     {numbers.begin() + 2, numbers.end()});
  }
}

std::vector<std::int64_t> all_of(const Tokens& tokens) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(tokens.size()));
  tokens.read(0, ids);
  return ids;
}

/// The ids, if they are few, or the refusal: "text PATH", "tokens PATH...", "ignore FILE...".
std::string read_by(const std::string& line, const TemporaryFolder& folder) {
  DataSettings data;
  std::int64_t vocabulary = 65536, count = 0;
  const auto words = split(line, ' ');
  for (const std::string& word : words) {
    if (&word == &words.front()) continue;
    const auto equals = word.find('=');
    const std::string value = word.substr(equals + 1);
    if (word.starts_with("type=")) {
      data.token_type = value;
    } else if (word.starts_with("vocabulary=")) {
      vocabulary = std::stoll(value);
    } else if (word.starts_with("of=")) {
      count = std::stoll(value);
    } else if (words[0] == "text") {
      data.text = folder / word;
    } else {
      (words[0] == "ignore" ? data.ignore : data.tokens).push_back(folder / word);
    }
  }
  if (words[0] == "ignore") data.text = "a.txt";
  std::string said = "refused: ";
  try {
    const Tokens tokens = words[0] == "ignore" ? load_ignored(data, count).value() : load_tokens(data, vocabulary);
    if (tokens.size() > 20) return std::to_string(tokens.size()) + " tokens";
    said = "refused when read: ";
    std::string ids;
    for (const std::int64_t id : all_of(tokens)) ids += (ids.empty() ? "" : " ") + std::to_string(id);
    return ids;
  } catch (const InputError& error) {
    return said + testing::in_folder(folder, error.what());
  }
}

TEST(LoadTokens, ReadsAndRefusesFilesOfEveryFormat) {
  testing::expect_answers("token-files.txt", [](const std::string& input) {
    const TemporaryFolder folder;
    std::string said;
    for (const std::string& line : split(input, '\n')) {
      const auto words = split(line, ' ');
      if (words.size() > 1 && words[1] == "=") {
        std::string bytes;
        for (std::size_t i = 2; i < words.size(); ++i) add_part(bytes, words[i]);
        folder.file(words[0], bytes);
      } else if (words[0] == "mkdir") {
        std::filesystem::create_directories(folder / words.at(1));
      } else {
        said += (said.empty() ? "" : "\n") + read_by(line, folder);
      }
    }
    return said;
  });
}

DataSettings ids_at(const std::filesystem::path& path) {
  DataSettings data;
  data.tokens = {path};
  return data;
}

TEST(Tokens, WrapAroundAcrossUnalignedFiles) {
  const TemporaryFolder folder;
  folder.file("1.bin", testing::numbers<std::uint16_t>({0, 1, 2}));
  folder.file("2.bin", testing::numbers<std::uint16_t>({3}));
  folder.file("3.bin", testing::numbers<std::uint16_t>({4, 5}));
  const Tokens tokens = load_tokens(ids_at(folder / "*.bin"), 100);
  std::vector<std::int64_t> read(15);

  for (std::int64_t position = 0; position < 13; ++position) {
    tokens.read(position, read);
    for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i], (position + static_cast<std::int64_t>(i)) % 6);
  }
}

/// Bytes in an entry of /proc/self/status.
std::int64_t kibibytes(const std::string& entry) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(entry + ":")) return std::stoll(line.substr(entry.size() + 1));
  }
  return -1;
}

// A mapped file is not resident: a file of 20 GB costs only the pages that are read.
TEST(Tokens, MapsALargeFile) {
  const TemporaryFolder folder;
  const auto path = folder.file("large.bin", testing::numbers<std::uint16_t>({7, 8}));
  constexpr std::int64_t bytes = 20'000'000'000;
  std::filesystem::resize_file(path, bytes);  // sparse
  const std::int64_t resident = kibibytes("VmRSS"), mapped = kibibytes("VmSize");

  const Tokens tokens = load_tokens(ids_at(path), 256);
  std::vector<std::int64_t> last(3);
  tokens.read(tokens.size() - 1, last);

  EXPECT_EQ(tokens.size(), bytes / 2);
  EXPECT_THAT(last, ElementsAre(0, 7, 8)) << "positions beyond 32 bits";
  EXPECT_GT(kibibytes("VmSize") - mapped, bytes / 1024 - 1);
  EXPECT_LT(kibibytes("VmRSS") - resident, 50 * 1024);
}

}  // namespace
}  // namespace plumbline
