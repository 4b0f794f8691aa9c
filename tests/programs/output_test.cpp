// SPDX-License-Identifier: BSD-3-Clause
// If output cannot be written, every program must fail.
#include <gmock/gmock.h>

#include "tests/ended.hpp"
#include "tests/paths.hpp"
#include "tests/programs/bin.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::Ended;
using ::testing::HasSubstr;

const std::string bin = testing::bin() + "/";
const std::string run = testing::fixtures_path() + "/runs/quick.toml";

class Output : public ::testing::Test {
 protected:
  /// Redirects only its standard output to `place`; returns the other output.
  Ended with_output(const std::string& command, const std::string& place) const {
    return testing::end_of("( " + bin + command + " " + place + " )", folder.path());
  }
  testing::TemporaryFolder folder;
};

TEST_F(Output, EveryProgramExitsWithThreeIfItCannotWrite) {
  const std::string record = (folder / "record").string();
  ASSERT_EQ(with_output("plumbline-reference " + run + " --quiet --record " + record, "").code, 0);

  for (const std::string& command : std::vector<std::string>{
           "plumbline --help", "plumbline --version", "plumbline sweep --help", "plumbline schedule list",
           "plumbline schedule list --json", "plumbline schedule show", "plumbline schedule simulate --json",
           "plumbline schedule convert",
           "plumbline schedule check " + testing::fixtures_path() + "/schedules/zbv-p2-m4.csv --model buffered",
           "plumbline doctor", "plumbline doctor --json", "plumbline compare " + record + " " + record,
           "plumbline compare --json " + record + " " + record,
           "plumbline sweep " + testing::fixtures_path() + "/sweeps/default.toml --list", "plumbline-reference --help",
           "plumbline-reference --capabilities", "plumbline-pipeline --help", "plumbline-pipeline --capabilities"}) {
    const Ended to_a_file = with_output(command, "> " + (folder / "out.txt").string());
    EXPECT_NE(testing::bytes_of(folder / "out.txt"), "") << command << " prints nothing that could be lost";
    EXPECT_LE(to_a_file.code, command.find("doctor") == std::string::npos ? 1 : 3) << command << to_a_file.output;

    for (const char* lost : {"> /dev/full", ">&-"}) {
      const Ended ended = with_output(command, lost);
      EXPECT_EQ(ended.code, 3) << command << " " << lost;
      EXPECT_THAT(ended.output, HasSubstr("the output cannot be written")) << command << " " << lost;
    }
  }
}

TEST_F(Output, ExceedingTheFileSizeLimitIsExplained) {
  const std::string record = (folder / "record").string(), again = (folder / "again").string();
  ASSERT_EQ(with_output("plumbline-reference " + run + " --quiet --record " + record, "").code, 0);

  for (const std::string& command :
       {"plumbline-reference " + run + " --quiet --record " + again,
        "plumbline compare " + record + " " + record + " --page " + (folder / "page").string()}) {
    const Ended ended = testing::end_of("( ulimit -f 8; " + bin + command + " > /dev/null )", folder.path());
    EXPECT_EQ(ended.code, 3) << command << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("File too large; raise the limit")) << command;
  }
}

// Otherwise the next opened files would get the numbers of the streams: a run's progress once ended up in memory.csv.
TEST_F(Output, IsNotWrittenIntoTheRecordIfStreamsAreClosed) {
  const std::string record = (folder / "record").string();

  ASSERT_EQ(with_output("plumbline-reference " + run + " --record " + record, "<&- >&- 2>&-").code, 0);

  const Ended check = with_output("plumbline record check " + record, "");
  EXPECT_EQ(check.code, 0) << check.output;
}

TEST_F(Output, OfVersionNamesProgramVersionAndCommit) {
  for (const std::string program : {"plumbline", "plumbline-reference", "plumbline-pipeline"}) {
    const Ended ended = with_output(program + " --version", "");
    EXPECT_EQ(ended.code, 0);
    EXPECT_THAT(ended.output,
                ::testing::MatchesRegex(program + " [0-9]+[.][0-9]+[.][0-9]+(, commit [0-9a-f]+(-dirty)?)?\n"));
  }
}

}  // namespace
}  // namespace plumbline
