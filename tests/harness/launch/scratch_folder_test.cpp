#include "harness/launch/scratch_folder.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <optional>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

void age(const fs::path& folder) {
  fs::last_write_time(folder, fs::file_time_type::clock::now() - 1h);
}

TEST(ScratchFolder, GoesWithAllThatIsInIt) {
  const TemporaryFolder parent;
  std::optional<ScratchFolder> scratch(std::in_place, 0, std::vector<fs::path>{parent.path()});
  std::ofstream(fs::path(scratch->path()) / "segment") << "bytes";

  scratch.reset();

  EXPECT_TRUE(fs::is_empty(parent.path()));
}

// A plumbline ended by SIGKILL cannot tidy up; segments in memory would stay until the machine starts again.
TEST(ScratchFolder, OfADeadPlumblineGoesAndThatOfALivingOneStaysHoweverOld) {
  const TemporaryFolder parent;
  const ScratchFolder living(0, {parent.path()});
  age(living.path());
  const fs::path dead = parent / "plumbline-run-dead", another = parent / "of-somebody-else";
  for (const fs::path& folder : {dead, another}) {
    fs::create_directories(folder / "session");
    age(folder);
  }

  const ScratchFolder next(0, {parent.path()});

  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(another));
  EXPECT_TRUE(fs::exists(living.path()));
}

// On a machine so loaded that it stood still between two lines, its folder looks left behind.
TEST(ScratchFolder, TakenByAnotherPlumblineBeforeItIsLockedIsMadeAgain) {
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
  EXPECT_NE(flock(lock, LOCK_EX | LOCK_NB), 0) << "nothing keeps others off it";
  close(lock);
}

TEST(ScratchFolder, IsMadeInTheFirstPlaceThatCanBeWrittenTo) {
  const TemporaryFolder parent;

  const ScratchFolder scratch(0, {"/proc/no-such-place", parent.path()});

  EXPECT_EQ(fs::path(scratch.path()).parent_path(), parent.path());
  const auto nowhere = [] { const ScratchFolder none(0, {"/proc/no-such-place"}); };
  EXPECT_THROW(nowhere(), SystemError);
}

// A container's /dev/shm may be small; Open MPI waits without end where its segments do not fit.
TEST(ScratchFolder, IsMadeWhereThereIsRoom) {
  const TemporaryFolder parent;
  constexpr std::int64_t exbibyte = std::int64_t{1} << 60;

  const ScratchFolder scratch(ScratchFolder::bytes_for(2), {"/proc", parent.path()});

  EXPECT_EQ(fs::path(scratch.path()).parent_path(), parent.path());
  EXPECT_THAT(
      error_of<SystemError>([&] {
        const ScratchFolder none(exbibyte, {"/proc", parent.path()});
      }),
      ::testing::AllOf(::testing::HasSubstr("/proc has only 0 B of the 1.00 EiB"),
                       ::testing::HasSubstr(parent.path().string() + " has only "), ::testing::HasSubstr("TMPDIR")));
}

}  // namespace
}  // namespace plumbline::testing
