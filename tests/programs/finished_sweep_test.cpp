// SPDX-License-Identifier: BSD-3-Clause
// What a sweep leaves behind when it has ended: files as docs/schemas says, and no dumps that nobody needs.
#include <gmock/gmock.h>

#include "record/removed_dumps.hpp"
#include "record/verdict.hpp"
#include "support/files.hpp"
#include "tests/ended.hpp"
#include "tests/json_schema.hpp"
#include "tests/programs/bin.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

/// Three cells: one that holds, one whose balance the launcher drops, and the first again at level dump.
class FinishedSweep : public ::testing::Test {
 protected:
  FinishedSweep() {
    const fs::path launcher = folder_.file("launcher",
                                           "#!/bin/bash\nset -e\nworld=$1; shift\nsed -i /^balance/d $2\n"
                                           "exec \"$@\" --transport threads --world $world\n");
    fs::permissions(launcher, fs::perms::owner_all);
    sweep_ = folder_.file("sweep.toml", "launcher = \"" + launcher.string() +
                                            " {world}\"\naudit = true\nworld_sizes = [2]\nschedules = [\"1f1b\"]\n"
                                            "run = [\"" PLUMBLINE_FIXTURES
                                            "/runs/quick.toml\"]\n"
                                            "[[cell]]\nrun = \"" PLUMBLINE_FIXTURES
                                            "/runs/quick.toml\"\n"
                                            "schedule = \"1f1b\"\nworld_size = 2\nbalance = [1, 4]\n");
  }

  Ended plumbline(const std::string& words) const { return end_of(bin() + "/plumbline " + words, folder_.path()); }
  Ended sweep(const std::string& options) const {
    return plumbline("sweep " + sweep_.string() + " --out " + out().string() + options);
  }
  fs::path out() const { return folder_ / "out"; }

  CellVerdict audited_cell() const {
    for (const auto& cell : read_verdict(out() / "verdict.json").cells) {
      if (cell.id == "quick-dump-1f1b-w2") return cell;
    }
    ADD_FAILURE() << "no such cell";
    return {};
  }
  static CheckResult audit_of(const CellVerdict& cell) {
    for (const auto& check : cell.checks) {
      if (check.name == "audit") return check;
    }
    ADD_FAILURE() << "no audit";
    return {};
  }

  /// Files of this name anywhere in the sweep's folder.
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

TEST_F(FinishedSweep, ItsRequestsAndVerdictsAreAsTheSchemasSay) {
  const Ended ended = sweep("");
  ASSERT_EQ(ended.code, 1) << ended.said;
  if (!can_validate()) GTEST_SKIP() << no_validator;

  const fs::path schemas = fs::path(PLUMBLINE_FIXTURES).parent_path() / "docs/schemas";
  const auto requests = files_called("request.json"), cells = files_called("cell.json");
  EXPECT_GE(requests.size(), 5U) << "of two references and three cells, and of the second run of one";
  EXPECT_THAT(cells, SizeIs(3));
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

TEST_F(FinishedSweep, DumpsGoAndTheTablesAreAuditedAgain) {
  ASSERT_EQ(sweep("").code, 1);
  EXPECT_TRUE(audited_cell().holds);
  EXPECT_EQ(audit_of(audited_cell()).outcome, Outcome::holds);
  EXPECT_TRUE(dumps_were_removed(out() / "cells/quick-dump-1f1b-w2"));
  EXPECT_TRUE(dumps_were_removed(out() / "references/quick-dump"));

  const Ended again = plumbline("judge " + out().string());

  EXPECT_EQ(again.code, 1) << "of the cell whose balance was dropped";
  EXPECT_TRUE(audited_cell().holds);
  EXPECT_EQ(audit_of(audited_cell()).outcome, Outcome::holds);
  EXPECT_EQ(plumbline("record check " + (out() / "cells/quick-dump-1f1b-w2").string()).code, 0);
}

TEST_F(FinishedSweep, DumpsThatAreKeptAreAuditedAgain) {
  const Ended ended = sweep(" --keep-dumps --cells quick-dump-1f1b-w2");
  ASSERT_EQ(ended.code, 0) << ended.said;

  const Ended again = plumbline("judge " + out().string());

  EXPECT_EQ(again.code, 0) << again.said;
  EXPECT_THAT(again.said, Not(HasSubstr("not repeated")));
  EXPECT_EQ(audit_of(audited_cell()).outcome, Outcome::holds);
}

}  // namespace
}  // namespace plumbline::testing
