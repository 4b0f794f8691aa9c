// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/scratch_folder.hpp"

#include <sys/file.h>

#include <chrono>
#include <fstream>
#include <optional>

#include "support/error.hpp"
#include "tests/harness/launch/open_files.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

void age(const fs::path& folder) {
  fs::last_write_time(folder, fs::file_time_type::clock::now() - 1h);
}

TEST(ScratchFolder, IsRemovedWithItsContents) {
  const TemporaryFolder parent;
  std::optional<ScratchFolder> scratch(std::in_place, 0, std::vector<fs::path>{parent.path()});
  std::ofstream(fs::path(scratch->path()) / "segment") << "bytes";

  scratch.reset();

  EXPECT_TRUE(fs::is_empty(parent.path()));
}

// A plumbline that SIGKILL ends cannot clean up; memory segments would stay until the machine restarts.
TEST(ScratchFolder, IsRemovedIfItsProcessIsDeadAndKeptIfItLives) {
  const TemporaryFolder parent;
  const ScratchFolder living(0, {parent.path()});
  age(living.path());
  const fs::path dead = parent / "plumbline-run-dead", second = parent / "plumbline-run-dead-too",
                 another = parent / "of-somebody-else";
  for (const fs::path& folder : {dead, second, another}) {
    fs::create_directories(folder / "session");
    age(folder);
  }

  const ScratchFolder next(0, {parent.path()});

  EXPECT_FALSE(fs::exists(dead));
  EXPECT_FALSE(fs::exists(second));
  EXPECT_TRUE(fs::exists(another));
  EXPECT_TRUE(fs::exists(living.path()));
}

TEST(ScratchFolder, ARecentOneIsKept) {
  const TemporaryFolder parent;
  const fs::path young = parent / "plumbline-run-young";
  fs::create_directory(young);

  const ScratchFolder next(0, {parent.path()});

  EXPECT_TRUE(fs::exists(young));
}

// Only root can make such a folder here; for other users it is one more folder that stays.
TEST(ScratchFolder, OfAnotherUserIsKept) {
  const TemporaryFolder parent;
  const fs::path theirs = parent / "plumbline-run-theirs";
  fs::create_directory(theirs);
  const bool given_away = chown(theirs.c_str(), getuid() + 1, getgid()) == 0;
  if (given_away) age(theirs);

  const ScratchFolder next(0, {parent.path()});

  EXPECT_TRUE(fs::exists(theirs));
}

TEST(ScratchFolder, LeavesNoFileOpen) {
  const TemporaryFolder parent;
  const ScratchFolder living(0, {parent.path()});
  age(living.path());
  const fs::path dead = parent / "plumbline-run-dead";
  fs::create_directory(dead);
  age(dead);
  const auto before = open_files();

  { const ScratchFolder next(0, {parent.path()}); }

  EXPECT_FALSE(fs::exists(dead));
  EXPECT_EQ(open_files(), before);
}

// Some file systems have no locks; here no file can be opened for one.
TEST(ScratchFolder, WithoutLocksTheFirstOneIsUsed) {
  const TemporaryFolder parent;
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  int made = 0;

  const ScratchFolder scratch(0, {parent.path()}, [&](const fs::path&) {
    rlimit none = usual;
    if (++made == 1) none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
  });
  setrlimit(RLIMIT_NOFILE, &usual);

  EXPECT_EQ(made, 1);
  EXPECT_TRUE(fs::exists(scratch.path()));
}

// With too little memory, ranks die of SIGBUS in the middle of a run.
TEST(ScratchFolder, EachRankNeedsRoomForItsSegment) {
  constexpr std::int64_t mebibyte = 1 << 20;
  EXPECT_EQ(ScratchFolder::bytes_for(0), 16 * mebibyte);
  EXPECT_EQ(ScratchFolder::bytes_for(8), (16 + 8 * 4) * mebibyte);
}

// If a loaded machine pauses between two lines, its folder looks abandoned.
TEST(ScratchFolder, IsMadeAgainIfAnotherProcessRemovedIt) {
  const TemporaryFolder parent;
  int taken = 0;

  const ScratchFolder scratch(0, {parent.path()}, [&](const fs::path& made) {
    if (taken++ >= 2) return;
    age(made);
    const ScratchFolder other(0, {parent.path()});
    EXPECT_FALSE(fs::exists(made));
  });

  EXPECT_EQ(taken, 3);
  EXPECT_TRUE(fs::exists(scratch.path()));
  const int lock = open(scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT_NE(flock(lock, LOCK_EX | LOCK_NB), 0) << "no lock protects it";
  close(lock);
}

TEST(ScratchFolder, IsMadeInTheFirstWritablePlace) {
  const TemporaryFolder parent;

  const ScratchFolder scratch(0, {"/proc/no-such-place", parent.path()});

  EXPECT_EQ(fs::path(scratch.path()).parent_path(), parent.path());
  const auto nowhere = [] { const ScratchFolder none(0, {"/proc/no-such-place"}); };
  EXPECT_THAT(error_of<SystemError>(nowhere), HasSubstr("/proc/no-such-place: No such file or directory"));
}

// A container's /dev/shm may be small; Open MPI waits forever if its segments do not fit.
TEST(ScratchFolder, IsMadeWhereThereIsRoom) {
  const TemporaryFolder parent;
  constexpr std::int64_t exbibyte = std::int64_t{1} << 60;

  const ScratchFolder scratch(ScratchFolder::bytes_for(2), {"/proc", parent.path()});

  EXPECT_EQ(fs::path(scratch.path()).parent_path(), parent.path());
  EXPECT_THAT(error_of<SystemError>([&] {
                const ScratchFolder none(exbibyte, {"/proc", parent.path()});
              }),
              AllOf(HasSubstr("/proc has only 0 B of the 1.00 EiB"), HasSubstr(parent.path().string() + " has only "),
                    HasSubstr("TMPDIR")));
}

}  // namespace
}  // namespace plumbline::testing
