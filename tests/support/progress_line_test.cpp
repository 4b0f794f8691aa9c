// SPDX-License-Identifier: BSD-3-Clause
#include "support/progress_line.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmath>
#include <limits>
#include <memory>
#include <thread>

namespace plumbline {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// A file, which is not a terminal, with what a progress line wrote to it.
class Log {
 public:
  std::FILE* file() { return file_.get(); }
  std::string text() {
    std::string bytes(10000, '\0');
    std::rewind(file_.get());
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file_.get()));
    return bytes;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), std::fclose};
};

/// A terminal with what a progress line wrote to it.
class Terminal {
 public:
  Terminal() : seen_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    if (::grantpt(seen_) != 0 || ::unlockpt(seen_) != 0) return;
    file_.reset(::fdopen(::open(::ptsname(seen_), O_WRONLY | O_NOCTTY), "w"));
  }
  ~Terminal() { ::close(seen_); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  std::FILE* file() { return file_.get(); }
  /// Text up to the end of the first line.
  std::string text() {
    std::string bytes;
    for (char byte = 0; byte != '\n' && ::read(seen_, &byte, 1) == 1;) bytes += byte;
    return bytes;
  }

 private:
  int seen_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{nullptr, std::fclose};
};

StepProgress line_of(std::int64_t done, std::int64_t total, std::optional<double> loss, std::int64_t tokens) {
  return {.done = done, .total = total, .loss = loss, .step_tokens = tokens};
}

TEST(StepLine, SaysStepLossRateAndTimeLeft) {
  EXPECT_EQ(step_line({.done = 3,
                       .total = 5,
                       .loss = 5.43211,
                       .evaluation_loss = 5.678,
                       .learning_rate = 0.00125,
                       .step_tokens = 12300,
                       .epochs = 1.256},
                      3.0),
            "step 3/5  loss 5.4321  evaluation 5.6780  rate 1.25e-03  epoch 1.26  12.3k tokens/s  remaining 2 s");
}

TEST(StepLine, OmitsUnknownFigures) {
  EXPECT_EQ(step_line({.done = 0, .total = 5}, 0), "step 0/5");
  EXPECT_THAT(step_line(line_of(95, 100, 1, 500), 10, 90), HasSubstr("  250 tokens/s  remaining 10 s"))
      << "of a run that resumed at step 90";
  EXPECT_THAT(step_line(line_of(1, 5, std::nullopt, 10), 1), Not(HasSubstr("loss")));
}

TEST(StepLine, ShowsANan) {
  for (const double sign : {1.0, -1.0}) {
    const double loss = std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
    EXPECT_THAT(step_line(line_of(1, 2, loss, 10), 1), HasSubstr("loss nan"));
  }
}

TEST(StepLine, ScalesUnitsAndRoundsTheTimeLeftUp) {
  EXPECT_THAT(step_line(line_of(2, 3, 1, 1), 3), HasSubstr("remaining 2 s")) << "1.5 s";
  EXPECT_THAT(step_line(line_of(1, 602, 1, 1), 1), HasSubstr("remaining 11 min")) << "601 s";
  EXPECT_THAT(step_line(line_of(1, 2, 1, 500), 1), HasSubstr("  500 tokens/s  remaining 1 s"));
  EXPECT_THAT(step_line(line_of(1, 101, 1, 2500000), 1), HasSubstr("  2.5M tokens/s  remaining 100 s"));
  EXPECT_THAT(step_line(line_of(1, 601, 1, 1), 1), HasSubstr("remaining 10 min"));
  EXPECT_THAT(step_line(line_of(1, 9001, 1, 1), 1), HasSubstr("remaining 2 h 30 min"));
}

TEST(ProgressLine, ALogShowsOnlyTheFirstAndTheLastOfManyQuickLines) {
  Log log;
  ProgressLine line(log.file());

  for (int step = 1; step <= 100; ++step) line.step(line_of(step, 100, 1.0, step));
  line.finish();

  const std::string text = log.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_THAT(text, HasSubstr("step 1/100"));
  EXPECT_THAT(text, HasSubstr("step 100/100"));
  EXPECT_THAT(text, Not(HasSubstr("\r")));
}

TEST(ProgressLine, RateOfAResumedRunOmitsEarlierSteps) {
  Log log;
  ProgressLine line(log.file(), 90);

  line.step(line_of(90, 100, 1.0, 0));

  EXPECT_THAT(log.text(), StartsWith("step 90/100"));
  EXPECT_THAT(log.text(), Not(HasSubstr("remaining")));
}

TEST(ProgressLine, OnATerminalEachLineReplacesThePreviousOne) {
  Terminal terminal;
  ASSERT_NE(terminal.file(), nullptr);
  ProgressLine line(terminal.file());

  line.text("cell 1", false);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // now the next line is due, even on a slow machine
  line.text("cell 2", false);
  line.finish();

  EXPECT_EQ(terminal.text(), "\r\x1b[Kcell 1\r\x1b[Kcell 2\r\n");
}

TEST(ProgressLine, ShowsTheNextTextAtOnceAfterFinish) {
  Log log;
  ProgressLine line(log.file());

  line.text("cell 1", false);
  line.text("cell 2", false);
  line.finish();
  line.text("cell 3", false);

  EXPECT_EQ(log.text(), "cell 1\ncell 3\n");
}

}  // namespace
}  // namespace plumbline
