#include "reports/published_index.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "support/files.hpp"
#include "tests/reports/sample_sweep.hpp"
#include "tests/reports/well_formed.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(PublishedIndex, ListsEachFolderWithAReportByName) {
  testing::TemporaryFolder folder;
  for (const char* name : {"full", "default", "a b&c"}) {
    make_folder(folder / name);
    write_file(folder / name / "report.html", "page");
    write_verdict(folder / name / "verdict.json", testing::sample_verdict(1));
  }
  make_folder(folder / "without-a-report");

  const std::string page = published_index(folder.path());

  const testing::Markup markup = testing::parse_markup(page, true);
  EXPECT_EQ(markup.error, "");
  EXPECT_THAT(markup.references, ElementsAre("a b&amp;c/report.html", "default/report.html", "full/report.html"));
  EXPECT_THAT(
      page, HasSubstr("<td>Holds: 12 of 12 cells</td><td>bits</td><td>2026-11-21T12:00:00Z</td><td>0123456789ab</td>"));
}

TEST(PublishedIndex, ListsOtherPagesByWhatTheySayOfThemselves) {
  testing::TemporaryFolder folder;
  for (const char* name : {"default", "faults", "bench"}) make_folder(folder / name);
  write_file(folder / "default/report.html", "page");
  write_verdict(folder / "default/verdict.json", testing::sample_verdict(1));
  write_file(folder / "faults/faults.html",
             "<head><meta name=\"description\" content=\"killed: 2 of 2 &amp; all\"><meta name=\"commit\" "
             "content=\"abc\"><title>Faults</title></head>");
  write_file(folder / "bench/bench.html", "<title>Bench</title>");

  const std::string page = published_index(folder.path());

  EXPECT_EQ(testing::parse_markup(page, true).error, "");
  EXPECT_THAT(page, HasSubstr("<li><a href=\"bench/bench.html\">Bench</a></li>\n<li><a href=\"faults/"
                              "faults.html\">Faults</a>: killed: 2 of 2 &amp; all (commit abc)</li>"));
}

TEST(PublishedIndex, OfNothingIsRefused) {
  testing::TemporaryFolder folder;

  EXPECT_THAT(testing::error_of<InputError>([&] { published_index(folder.path()); }), HasSubstr("holds no folder"));
}

TEST(PublishedIndex, AVerdictWithoutAPageIsNotLinkedAndWithoutACommitSaysSo) {
  testing::TemporaryFolder folder;
  Verdict verdict = testing::sample_verdict(1);
  verdict.harness = Json::object();
  for (const char* name : {"judged", "kept"}) {
    make_folder(folder / name);
    write_verdict(folder / name / "verdict.json", verdict);
  }
  write_file(folder / "kept/report.html", "page");

  const std::string page = published_index(folder.path());

  EXPECT_THAT(testing::parse_markup(page, true).references, ElementsAre("kept/report.html"));
  EXPECT_THAT(page, HasSubstr("<td>2026-11-21T12:00:00Z</td><td>not known</td>"));
}

}  // namespace
}  // namespace plumbline
