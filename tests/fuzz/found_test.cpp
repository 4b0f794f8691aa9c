// SPDX-License-Identifier: BSD-3-Clause
// Every reader must accept or refuse, with an error of the project, all seeds, its own and those of others, and
// everything that libFuzzer found (found/<reader>/).
#include <gmock/gmock.h>

#include <set>
#include <stdexcept>

#include "support/files.hpp"
#include "tests/fuzz/reader.hpp"

namespace plumbline::fuzzing {
namespace {

namespace fs = std::filesystem;

void expect_taken_or_refused(const Feeder& feeder, const fs::path& file, const std::string& reader) {
  try {
    feeder.feed(read_file(file));
  } catch (const std::exception& error) {
    ADD_FAILURE() << reader << " of " << file << " throws an error that is not the project's: " << error.what();
  }
}

TEST(FuzzedReaders, AcceptTheirSeeds) {
  const auto all = seeds();
  std::set<std::string> fed;

  for (const Reader& reader : readers()) {
    ASSERT_TRUE(all.contains(reader.name)) << reader.name << " has no seeds";
    const Feeder feeder(reader);
    for (const fs::path& seed : all.at(reader.name)) {
      try {
        const auto refused = feeder.feed(read_file(seed));
        EXPECT_FALSE(refused) << reader.name << " of " << seed << ": " << refused.value_or("");
      } catch (const std::exception& error) {
        ADD_FAILURE() << reader.name << " of " << seed << ": " << error.what();
      }
    }
    fed.insert(reader.name);
  }

  EXPECT_EQ(fed.size(), all.size()) << "seeds.txt names an unknown reader";
}

TEST(FuzzedReaders, AcceptOrRefuseTheSeedsOfAllOthers) {
  const auto all = seeds();
  for (const Reader& reader : readers()) {
    const Feeder feeder(reader);
    for (const auto& [other, files] : all) expect_taken_or_refused(feeder, files.front(), reader.name);
  }
}

TEST(FuzzedReaders, AcceptOrRefuseWhatWasFound) {
  std::set<std::string> names;
  std::size_t inputs = 0;
  for (const Reader& reader : readers()) {
    names.insert(reader.name);
    const Feeder feeder(reader);
    for (const fs::path& file : files_like("tests/fuzz/found/" + reader.name + "/*")) {
      expect_taken_or_refused(feeder, file, reader.name);
      ++inputs;
    }
  }

  EXPECT_GT(inputs, 0u);
  for (const fs::path& folder : files_like("tests/fuzz/found/*"))
    EXPECT_TRUE(names.contains(folder.filename())) << folder << " belongs to no reader";
}

/// The two tests above would see such an error.
TEST(FuzzedReaders, AnyOtherErrorIsPassedOn) {
  const Feeder feeder(
      {"planted", "file", [](const fs::path&, const fs::path&) { throw std::out_of_range("planted"); }});

  EXPECT_THROW(feeder.feed("x"), std::out_of_range);
}

}  // namespace
}  // namespace plumbline::fuzzing
