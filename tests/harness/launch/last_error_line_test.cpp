// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/last_error_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/environment_variable.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

std::string words_of(const std::string& output, const std::string& program = "trainer") {
  const TemporaryFolder folder;
  return last_error_line(folder.file("stderr.txt", output), program);
}

TEST(LastWords, PrefersTheProgramsLinesToALaunchersLaterOnes) {
  EXPECT_EQ(words_of("trainer: first\ntrainer: second\nmpirun detected an exit\n------\n"), "trainer: second");
  EXPECT_EQ(words_of("rank 2 ended the run: no data\nsome banner\n"), "rank 2 ended the run: no data");
  EXPECT_EQ(words_of("othertrainer: first\nlast\n"), "last");
  EXPECT_EQ(words_of(": first\nlast\n", ""), "last") << "a program without a name has no lines of its own";
}

TEST(LastWords, OtherwiseUsesTheLastMeaningfulLine) {
  EXPECT_EQ(words_of("first\n \t second\n\n \t-*=\n-----\n"), "second");
  EXPECT_EQ(words_of("----\n\n"), "");
  EXPECT_EQ(words_of(""), "");
  EXPECT_EQ(last_error_line("/no/such/file", "trainer"), "");
}

// Open MPI 4.1.4, when the file size of a rank is limited.
const std::string cannot_start = R"(--------------------------------------------------------------------------
A system call failed during shared memory initialization that should
not have.

  Local host:  vm
  System call: ftruncate(2) 
  Error:       File too large (errno 27)
--------------------------------------------------------------------------
--------------------------------------------------------------------------
MPI_INIT has failed because at least one MPI process is unreachable
from another.
--------------------------------------------------------------------------
[vm:24868] *** An error occurred in MPI_Init_thread
[vm:24868] *** reported by process [232849409,1]
[vm:24868] *** MPI_ERRORS_ARE_FATAL (processes in this communicator will now abort,
[vm:24868] ***    and potentially your MPI job)
)";
const std::string only_the_end = R"(--------------------------------------------------------------------------
mpirun noticed that process rank 4 with PID 0 on node vm exited on signal 9 (Killed).
--------------------------------------------------------------------------
)";

TEST(LastWords, UsesTheFirstBanner) {
  const std::string cause = words_of(cannot_start);
  EXPECT_EQ(cause,
            "A system call failed during shared memory initialization that should not have. Local host:  vm System "
            "call: ftruncate(2)  Error:       File too large (errno 27)");
  EXPECT_EQ(words_of(only_the_end + cannot_start + only_the_end), cause);
  EXPECT_EQ(words_of("KeyError: 'loss'\n" + cannot_start + only_the_end), "KeyError: 'loss'");
  EXPECT_EQ(words_of(cannot_start + "trainer: no data\n" + only_the_end), "trainer: no data");
  EXPECT_EQ(words_of(cannot_start.substr(cannot_start.find("[vm:"))),
            "An error occurred in MPI_Init_thread reported by process [232849409,1] MPI_ERRORS_ARE_FATAL (processes in "
            "this communicator will now abort, and potentially your MPI job)");
  EXPECT_THAT(words_of(only_the_end), ::testing::StartsWith("mpirun noticed that process rank 4"));
  EXPECT_EQ(words_of("first\n" + std::string(40, '-') + "\nsecond\n"), "second") << "one rule does not start a banner";
  EXPECT_EQ(words_of("[train.py:12] first\n[train.py:13] second\n"), "[train.py:13] second");
}

TEST(LastWords, UsesTheLastStateOfAnOverwrittenLine) {
  EXPECT_EQ(words_of("loading 50%\rloading 100%\rtrainer: no data\n"), "trainer: no data");
}

TEST(LastWords, ExplainsTheLoadersErrorForAnotherLibTorch) {
  const TemporaryFolder folder;
  const std::string line = "/my bin/trainer: symbol lookup error: /my bin/trainer: undefined symbol: ";
  const std::string advice =
      ": this program was compiled for another version; remove the other LibTorch from LD_LIBRARY_PATH and LD_PRELOAD";
  {
    const EnvironmentVariable variable("LD_LIBRARY_PATH",
                                       (folder.path().string() + "/none::" + folder.path().string()).c_str());
    EXPECT_EQ(words_of(line + "_ZNK3c1010TensorImpl4dataEv\nbanner\n"),
              "trainer: another LibTorch is loaded, but lacks _ZNK3c1010TensorImpl4dataEv" + advice);
    folder.file("libtorch_cpu.so", "");
    EXPECT_EQ(words_of(line + "_ZTIN5torch8autograd4NodeE\n"), "trainer: the LibTorch in " + folder.path().string() +
                                                                   " is loaded, but lacks _ZTIN5torch8autograd4NodeE" +
                                                                   advice);
  }
  EXPECT_EQ(words_of(line + "MPI_Init\n"), line + "MPI_Init") << "not a symbol of LibTorch";
}

TEST(LastWords, CutsOffLongLines) {
  const std::string long_line(401, 'x'), own = "trainer: " + std::string(391, 'y');
  EXPECT_EQ(words_of(long_line), std::string(400, 'x') + " ...");
  EXPECT_EQ(words_of(std::string(400, 'x')), std::string(400, 'x'));
  EXPECT_EQ(words_of(own + "\nlast\n"), own);
  EXPECT_EQ(words_of(own + "y\nlast\n"), "last") << "too long to be the program's own line";
}

TEST(LastWords, ARanksOwnLineNamesItsNumber) {
  EXPECT_TRUE(is_own_line("rank 12 ended the run: x", ""));
  EXPECT_FALSE(is_own_line("rank x ended the run: x", ""));
  EXPECT_FALSE(is_own_line("the rank 12 ended the run: x", ""));
  EXPECT_TRUE(is_own_line("trainer: x", "trainer"));
  EXPECT_FALSE(is_own_line("trainer, x", "trainer"));
}

}  // namespace
}  // namespace plumbline::testing
