// SPDX-License-Identifier: BSD-3-Clause
#include "harness/bench/summary_run.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(SummaryRun, RecordsTimesAndNoTensorsAndItsPathsHoldElsewhere) {
  TemporaryFolder folder;
  const auto run =
      folder.file("runs/a.toml",
                  "[model]\nconfig = \"../models/config.json\"\n[data]\ntext = \"/corpus\"\nlengths = [4]\n"
                  "[pipeline]\nschedule = \"mine.csv\"\n[record]\nlevel = \"dump\"\n");

  const std::string text = summary_run(run);

  EXPECT_THAT(text, AllOf(HasSubstr("level = 'summary'"), Not(HasSubstr("dump"))));
  EXPECT_THAT(text, HasSubstr((folder / "models/config.json").string()));
  EXPECT_THAT(text, HasSubstr("text = '/corpus'"));
  EXPECT_THAT(text, HasSubstr((folder / "runs/mine.csv").string()));
}

TEST(SummaryRun, SoDoThoseOfItsShards) {
  TemporaryFolder folder;
  const auto run = folder.file("a.toml", "[model]\nconfig = \"c.json\"\n[data]\ntokens = [\"s/*.bin\", \"t.bin\"]\n");

  EXPECT_THAT(summary_run(run),
              AllOf(HasSubstr((folder / "s/*.bin").string()), HasSubstr((folder / "t.bin").string())));
}

TEST(SummaryRun, ASchedulesNameStaysAName) {
  TemporaryFolder folder;
  const auto run = folder.file("a.toml", "[model]\nconfig = \"c.json\"\n[pipeline]\nschedule = \"zb-v\"\n");

  EXPECT_THAT(summary_run(run), AllOf(HasSubstr("schedule = 'zb-v'"), HasSubstr("level = 'summary'")));
}

TEST(SummaryRun, WhatIsNoTomlIsRefused) {
  TemporaryFolder folder;

  EXPECT_THAT(error_of<InputError>([&] { summary_run(folder.file("a.toml", "[model\n")); }), HasSubstr("a.toml"));
  EXPECT_THAT(error_of<InputError>([&] { summary_run(folder / "nowhere.toml"); }), HasSubstr("nowhere.toml"));
}

}  // namespace
}  // namespace plumbline::testing
