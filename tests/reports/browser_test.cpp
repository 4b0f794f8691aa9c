// SPDX-License-Identifier: BSD-3-Clause
// The page in a real browser, if one is installed: it writes nothing to its console and loads nothing, its squares
// open their cases, and it fits on screens and on paper.
#include <gmock/gmock.h>

#include <cstdlib>

#include "reports/page.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "tests/ended.hpp"
#include "tests/markup_text.hpp"
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

/// As many cases as the default sweep, with a timeline.
std::string green_page() {
  const Verdict verdict = testing::sample_verdict(16);
  Evidence evidence = testing::sample_evidence(verdict, 5);
  evidence.slowest = {"stories260k-adamw-1f1b-w8", testing::sample_timeline("1f1b", 8)};
  return make_page(verdict, evidence);
}

/// Five cases fail, with three causes.
std::string red_page() {
  Verdict verdict = testing::sample_verdict(8);
  for (const std::size_t cell : {3U, 4U, 5U, 20U, 40U}) testing::break_check(verdict, cell, "gradients");
  verdict.cells[20].first_divergence->level = "completion";
  verdict.cells[40].first_divergence->item = "model.layers.3.mlp.down_proj.weight";
  Evidence evidence = testing::sample_evidence(verdict, 5);
  evidence.launches[verdict.cells[3].id] = {"mpirun -n 4 plumbline-pipeline run.toml",
                                            "rank 0: " + std::string(500, 'x')};
  return make_page(verdict, evidence);
}

class Browser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (browser().empty()) GTEST_SKIP() << "no Chromium (Debian: chromium)";
  }
  testing::Ended shown(const std::string& page, const std::string& options) {
    const auto file = folder_.file("page.html", page);
    const auto ended =
        testing::end_of("timeout 120 " + browser() + " --headless --no-sandbox --disable-gpu " + options +
                            " --user-data-dir=" + (folder_ / "profile").string() + " file://" + file.string(),
                        folder_.path());
    EXPECT_EQ(ended.code, 0) << ended.output;
    return ended;
  }
  /// What the browser writes to its log while it shows the page.
  std::string log_of(const std::string& page) {
    const std::string said =
        shown(page, "--enable-logging=stderr --window-size=1200,2000 --screenshot=" + (folder_ / "page.png").string())
            .output;
    EXPECT_GT(file_bytes(folder_ / "page.png"), 10'000U);
    return said;
  }
  /// The value of the expression, which may be asynchronous, in a page of this width.
  std::string value_of(std::string page, int width, const std::string& expression) {
    page.insert(page.rfind("</body>"),
                "<script>addEventListener('load', async () => { document.title = 'value: ' + await (" + expression +
                    "); });</script>");
    const std::string said =
        shown(page, "--hide-scrollbars --virtual-time-budget=60000 --dump-dom --window-size=" + std::to_string(width) +
                        ",1000")
            .output;
    const std::string before = "<title>value: ";
    const auto at = said.find(before);
    if (at == std::string::npos) return "no value: " + said.substr(0, 500);
    return said.substr(at + before.size(), said.find('<', at + before.size()) - at - before.size());
  }
  /// The same in a frame, since a window is at least 500 pixels wide.
  std::string value_in_frame_of(const std::string& page, int width, const std::string& expression) {
    return value_of(page, 1400,
                    R"((async () => {
      const frame = document.createElement('iframe');
      frame.srcdoc = '<!DOCTYPE html>' + document.documentElement.outerHTML.replace(/<script[^]*?<\/script>/g, '');
      frame.style.width = ')" +
                        std::to_string(width) + R"(px';
      document.body.append(frame);
      await new Promise(done => frame.onload = done);
      return frame.contentWindow.eval()" +
                        Json(expression).dump() + "); })()");
  }
  std::size_t printed_pages(const std::string& page) {
    const auto file = folder_ / "page.pdf";
    shown(page, "--no-pdf-header-footer --print-to-pdf=" + file.string());
    return testing::times_in(read_file(file), "/Type /Page\n");
  }

  testing::TemporaryFolder folder_;
};

TEST_F(Browser, AFailedPageWritesNothingToTheConsole) {
  EXPECT_THAT(log_of(red_page()), Not(HasSubstr("CONSOLE")));
}

TEST_F(Browser, TheTestSeesConsoleMessages) {
  EXPECT_THAT(log_of("<!DOCTYPE html><title>t</title><script>console.error('planted')</script>"), HasSubstr("CONSOLE"));
}

TEST_F(Browser, SquaresAndListLinesOpenTheirCases) {
  const std::string clicks = R"((async () => {
    const closed = [], links = document.querySelectorAll('.overview a, .faults a');
    for (const link of links) {
      document.querySelectorAll('details').forEach(each => each.open = false);
      link.click();
      await new Promise(done => setTimeout(done, 5));
      const target = document.querySelector(link.getAttribute('href')), place = target.getBoundingClientRect();
      const seen = place.height > 0 && place.top < innerHeight && place.bottom > 0;
      const card = target.closest('details.failure') !== null;
      if (!seen || card !== (link.className !== '' || link.closest('.faults') !== null)) closed.push(link.href);
    }
    return links.length + ' clicked, closed: ' + closed;
  })())";

  EXPECT_EQ(value_of(red_page(), 1400, clicks), "73 clicked, closed: ") << "68 squares and 5 lines";
}

TEST_F(Browser, TheFirstScreenHasVerdictListAndGrid) {
  const std::string ends =
      "Math.max(...[...document.querySelectorAll('h1, .tiles, .cause, .overview')]"
      ".map(each => each.getBoundingClientRect().bottom)) <= 1000";
  EXPECT_EQ(value_of(red_page(), 1400, ends), "true");
  EXPECT_EQ(value_of(red_page(), 1400,
                     "new Set([...document.querySelectorAll('.tiles li')]"
                     ".map(each => each.getBoundingClientRect().top)).size"),
            "1")
      << "the counts are in one row";
}

TEST_F(Browser, PagesStayBelowTheirSizeLimit) {
  const std::string page = green_page();
  EXPECT_LT(page.size(), 600'000U);
  EXPECT_LT(std::stoi(value_of(page, 1400, "document.documentElement.scrollHeight")), 8000);
  EXPECT_LE(printed_pages(page), 6U);
  EXPECT_GE(printed_pages(red_page()), 2U);
}

TEST_F(Browser, ANarrowScreenNeedsNoScrolling) {
  const std::string narrow = R"((() => {
    const wide = [], own = document.documentElement;
    document.querySelectorAll('details').forEach(each => each.open = true);
    if (own.scrollWidth > innerWidth) wide.push('the page ' + own.scrollWidth);
    for (const each of document.querySelectorAll('.values dd, .overview a, .faults li, .tiles li'))
      if (each.getBoundingClientRect().right > innerWidth || each.scrollWidth > each.clientWidth + 1) wide.push(each.className);
    for (const each of document.querySelectorAll('.overview a, summary, .faults a'))
      if (each.getBoundingClientRect().height < 44) wide.push('low ' + each.textContent);
    return wide.length + ' too wide or low: ' + wide.slice(0, 5);
  })())";
  EXPECT_EQ(value_in_frame_of(red_page(), 390, narrow), "0 too wide or low: ");
}

TEST_F(Browser, PlotsFollowTheDarkTheme) {
  const std::string plain =
      "[...document.querySelectorAll('figure svg, .timeline svg > rect:first-of-type')].map(each => "
      "getComputedStyle(each).backgroundColor + (each.tagName === 'rect' ? "
      "getComputedStyle(each).fill : '')).filter((each, i, all) => all.indexOf(each) === i)";
  EXPECT_EQ(value_of(green_page(), 1400, plain), "rgba(0, 0, 0, 0),rgba(0, 0, 0, 0)none");
}

}  // namespace
}  // namespace plumbline
