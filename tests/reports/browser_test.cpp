// The page in a real browser, where one is installed: it says nothing on its console, and loads nothing.
#include <gmock/gmock.h>

#include <cstdlib>

#include "reports/page.hpp"
#include "reports/sweep_comparison.hpp"
#include "support/files.hpp"
#include "tests/ended.hpp"
#include "tests/reports/sample_sweep.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (std::system(("command -v " + std::string(name) + " > /dev/null 2>&1").c_str()) == 0) return name;
  }
  return "";
}

class Browser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (browser().empty()) GTEST_SKIP() << "no Chromium (Debian: chromium)";
  }
  /// What the browser writes to its log while it shows the page.
  std::string log_of(const std::string& page) {
    const auto file = folder_.file("page.html", page);
    const auto ended =
        testing::end_of("timeout 120 " + browser() +
                            " --headless --no-sandbox --disable-gpu --enable-logging=stderr "
                            "--window-size=1200,2000 --screenshot=" +
                            (folder_ / "page.png").string() + " --user-data-dir=" + (folder_ / "profile").string() +
                            " file://" + file.string(),
                        folder_.path());
    EXPECT_EQ(ended.code, 0) << ended.said;
    EXPECT_GT(file_bytes(folder_ / "page.png"), 10'000U);
    return ended.said;
  }

  testing::TemporaryFolder folder_;
};

TEST_F(Browser, ARedPageSaysNothingOnTheConsole) {
  Verdict verdict = testing::sample_verdict(3);
  testing::break_check(verdict, 1, "gradients");

  EXPECT_THAT(log_of(make_page(verdict, testing::sample_evidence(verdict, 3))), Not(HasSubstr("CONSOLE")));
}

TEST_F(Browser, NorDoesAComparison) {
  Verdict before = testing::sample_verdict(2), now = before;
  testing::break_check(now, 1, "loss");

  EXPECT_THAT(log_of(make_comparison_page(before, now, {std::nullopt, "not asked"})), Not(HasSubstr("CONSOLE")));
}

TEST_F(Browser, AMessageWouldBeSeen) {
  EXPECT_THAT(log_of("<!DOCTYPE html><title>t</title><script>console.error('planted')</script>"), HasSubstr("CONSOLE"));
}

}  // namespace
}  // namespace plumbline
