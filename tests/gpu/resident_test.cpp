// SPDX-License-Identifier: BSD-3-Clause
// Resident memory of the CUDA build's programs on their CPU path, as the kernel reports it at exit.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "support/files.hpp"
#include "tests/ended.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

constexpr double megabyte = 1e6;
/// Every trainer's limit before its model is allocated is 130 MB in any build. Ranks need 127 to 130, and the pages of
/// libraries vary from run to run: 10 MB are added for those, so that only the trainer can fail here.
constexpr double resident_limit = (130 + 10) * megabyte;
/// Limit on the process's own part; the rest are pages of libraries, which all processes share. Measured: 60.8 MB,
/// and 63.2 MB with MPI initialized, nearly all of it registered by LibTorch when it is loaded. The CUDA module alone
/// adds more than the margin.
constexpr double private_limit = 70 * megabyte;

struct Resident {
  double peak = 0;           ///< VmHWM, bytes
  double own = 0;            ///< pages without a file
  double in_huge_pages = 0;  ///< of files
};

class ResidentMemory : public ::testing::Test {
 protected:
  /// Measures each trainer that `command` starts and that exits with `code`.
  std::vector<Resident> after(const std::string& command, int code) const {
    const testing::Ended ended = testing::end_of("LD_PRELOAD=" PLUMBLINE_STATUS_AT_EXIT " PLUMBLINE_STATUS_AT_EXIT=" +
                                                     (folder_ / "status").string() + " OMP_NUM_THREADS=1 " + command,
                                                 folder_.path());
    EXPECT_EQ(ended.code, code) << ended.output;
    std::vector<Resident> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
      if (entry.path().stem() == "status") found.push_back(read(entry.path()));
    }
    return found;
  }

  static void expect_within_limits(const std::vector<Resident>& trainers, std::size_t count) {
    ASSERT_EQ(trainers.size(), count);
    for (const Resident& each : trainers) {
      EXPECT_GT(each.own, 0);
      EXPECT_LE(each.own, private_limit);
      // How much of a library counts as resident depends on the page cache: a file that was read from end to end is
      // cached in pages of 2 MiB, and one access maps all of such a page.
      if (each.in_huge_pages > 0) {
        std::printf("a library is in huge pages (%.1f MB mapped so): the peak of %.1f MB says nothing\n",
                    each.in_huge_pages / megabyte, each.peak / megabyte);
      } else {
        EXPECT_LE(each.peak, resident_limit);
      }
    }
  }

  testing::TemporaryFolder folder_;

 private:
  static Resident read(const std::filesystem::path& path) {
    std::istringstream in(read_file(path));
    Resident resident;
    for (std::string word; in >> word;) {
      double kibibytes = 0;
      if (word == "VmHWM:" && in >> kibibytes) resident.peak = kibibytes * 1024;
      if (word == "RssAnon:" && in >> kibibytes) resident.own = kibibytes * 1024;
      if (word == "FilePmdMapped:" && in >> kibibytes) resident.in_huge_pages = kibibytes * 1024;
    }
    return resident;
  }
};

TEST_F(ResidentMemory, IsSmallForTheReferencesHelp) {
  expect_within_limits(after(testing::bin_path() + "/plumbline-reference --help", 0), 1);
}

TEST_F(ResidentMemory, IsSmallForThePipelinesHelp) {
  expect_within_limits(after(testing::bin_path() + "/plumbline-pipeline --help", 0), 1);
}

// A folder that is not empty is refused after MPI is initialized and the plan is made, but before the model is
// allocated.
TEST_F(ResidentMemory, IsSmallBeforeTheModel) {
  std::filesystem::create_directories(folder_ / "taken/rank-0");

  expect_within_limits(
      after(PLUMBLINE_MPI_COMMAND " " + testing::bin_path() + "/plumbline-pipeline " + testing::fixtures_path() +
                "/runs/quick.toml --quiet --record " + (folder_ / "taken").string(),
            2),
      3);
}

}  // namespace
}  // namespace plumbline
