// SPDX-License-Identifier: BSD-3-Clause
// The files of a finished sweep match docs/schemas.
#include <gmock/gmock.h>

#include "support/files.hpp"
#include "tests/ended.hpp"
#include "tests/json_schema.hpp"
#include "tests/paths.hpp"
#include "tests/programs/bin.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::SizeIs;

/// Two cases: one that holds, and one whose balance the launcher drops.
class FinishedSweep : public ::testing::Test {
 protected:
  FinishedSweep() {
    const fs::path launcher = folder_.file("launcher",
                                           "#!/bin/bash\nset -e\nworld=$1; shift\nsed -i /^balance/d $2\n"
                                           "exec \"$@\" --transport threads --ranks $world\n");
    fs::permissions(launcher, fs::perms::owner_all);
    sweep_ = folder_.file("sweep.toml", "launcher = \"" + launcher.string() +
                                            " {world}\"\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n"
                                            "run = [\"" +
                                            fixtures_path() +
                                            "/runs/quick.toml\"]\n"
                                            "[[cell]]\nrun = \"" +
                                            fixtures_path() +
                                            "/runs/quick.toml\"\n"
                                            "schedule = \"1f1b\"\nworld_size = 2\nbalance = [1, 4]\n");
  }

  Ended plumbline(const std::string& words) const { return end_of(bin() + "/plumbline " + words, folder_.path()); }
  Ended sweep(const std::string& options) const {
    return plumbline("sweep " + sweep_.string() + " --out " + out().string() + options);
  }
  fs::path out() const { return folder_ / "out"; }

  /// All files with this name in the sweep's folder.
  std::vector<fs::path> files_called(const std::string& name) const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::recursive_directory_iterator(out())) {
      if (entry.path().filename() == name) found.push_back(entry.path());
    }
    return found;
  }

  TemporaryFolder folder_;
  fs::path sweep_;
};

TEST_F(FinishedSweep, SchemasAcceptItsRequestsAndVerdicts) {
  const Ended ended = sweep("");
  ASSERT_EQ(ended.code, 1) << ended.output;
  if (!can_validate()) GTEST_SKIP() << no_validator;

  const fs::path schemas = fs::path(source_path()) / "docs/schemas";
  const auto requests = files_called("request.json"), cells = files_called("cell.json");
  EXPECT_GE(requests.size(), 4U) << "one for the reference, one for each case, and one for a second run";
  EXPECT_THAT(cells, SizeIs(2));
  const auto read = [](const auto& files) {
    std::vector<Json> values;
    for (const auto& file : files) values.push_back(read_json(file));
    return values;
  };
  const Json verdict = read_json(out() / "verdict.json");
  expect_by_schema(schemas / "request.schema.json", read(requests), {verdict});
  expect_by_schema(schemas / "verdict.schema.json", read(cells), {});
  expect_by_schema(schemas / "verdict.schema.json", {verdict}, {});
}

}  // namespace
}  // namespace plumbline::testing
