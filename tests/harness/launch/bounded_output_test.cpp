// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/bounded_output.hpp"

#include <fstream>
#include <memory>
#include <set>

#include "support/error.hpp"
#include "tests/harness/launch/open_files.hpp"
#include "tests/harness/matchers.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

/// The kept part of these words; each word is one write.
std::string kept_of(const std::vector<std::string>& words, std::int64_t first, std::int64_t last) {
  const TemporaryFolder folder;
  BoundedOutput output(folder / "said", first, last);
  const int inlet = dup(output.inlet());
  output.started();
  for (const auto& word : words) EXPECT_EQ(write(inlet, word.data(), word.size()), std::ssize(word));
  output.finish();
  close(inlet);
  return bytes_of(folder / "said");
}

TEST(BoundedOutput, KeepsBothEndsOfLongOutputAndCountsTheRest) {
  EXPECT_EQ(kept_of({"one\n", "two\n"}, 100, 10), "one\ntwo\n");
  EXPECT_EQ(kept_of({"12345", "67890"}, 5, 5), "1234567890");
  EXPECT_EQ(kept_of({"12345", "678"}, 5, 5), "12345678");
  EXPECT_EQ(kept_of({}, 5, 5), "");
  EXPECT_EQ(kept_of({"12345", "67890", "abcdefg"}, 4, 3), "1234\n[10 bytes omitted]\nefg");
  EXPECT_EQ(kept_of({"1234", "567890"}, 4, 4), "1234\n[2 bytes omitted]\n7890");
  const std::string many(1 << 17, 'x');  // more than one read takes
  EXPECT_EQ(kept_of({many, many}, 4, 3), "xxxx\n[262137 bytes omitted]\nxxx");
}

TEST(BoundedOutput, MemoryDoesNotGrowWithTheOutput) {
  const TemporaryFolder folder;
  BoundedOutput output(folder / "said", 4, 1 << 20);
  const int inlet = dup(output.inlet());
  output.started();
  const std::string many(1 << 20, 'x');
  const auto private_bytes = [] {
    std::ifstream status("/proc/self/status");
    std::string word;
    std::int64_t kibibytes = 0;
    while (word != "RssAnon:" && status >> word) {
    }
    status >> kibibytes;
    return kibibytes * 1024;
  };
  const std::int64_t before = private_bytes();

  for (int i = 0; i < 64; ++i) ASSERT_EQ(write(inlet, many.data(), many.size()), std::ssize(many));

  EXPECT_LT(private_bytes() - before, 32 << 20);
  close(inlet);
}

TEST(BoundedOutput, KeepsTheOutputWithoutFinish) {
  const TemporaryFolder folder;
  int inlet = -1;
  {
    BoundedOutput output(folder / "said");
    inlet = dup(output.inlet());
    output.started();
    ASSERT_EQ(write(inlet, "here", 4), 4);
  }
  EXPECT_EQ(bytes_of(folder / "said"), "here");
  close(inlet);
}

TEST(BoundedOutput, NamesTheFileThatCannotBeWritten) {
  const TemporaryFolder folder;
  const auto message = error_of<SystemError>([&] { BoundedOutput output(folder / "none/said"); });
  EXPECT_THAT(message, HasSubstr((folder / "none/said").string()));
  EXPECT_THAT(message, HasSubstr("cannot be written"));
}

TEST(BoundedOutput, LeavesNoFileOpen) {
  const TemporaryFolder folder;
  const auto before = open_files();
  kept_of({"words"}, 4, 4);
  { const BoundedOutput never_started(folder / "said"); }
  EXPECT_EQ(open_files(), before);
}

TEST(BoundedOutput, LeavesNoFileOpenIfNoPipeCanBeMade) {
  const TemporaryFolder folder;
  const auto before = open_files();
  rlimit usual{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &usual), 0);
  const int free = dup(0);
  close(free);
  // The first error of its type makes UndefinedBehaviorSanitizer open a pipe.
  EXPECT_EQ(error_of<SystemError>([] { throw SystemError("seen"); }), "seen");
  std::set<std::string> refusals;
  for (rlim_t files = 0; files < 4;
       ++files) {  // too few for the file, for the event that ends reading, for both ends of a pipe
    rlimit few = usual;
    few.rlim_cur = static_cast<rlim_t>(free) + files;
    setrlimit(RLIMIT_NOFILE, &few);
    const auto message = error_of<SystemError>([&] { BoundedOutput output(folder / "said"); });
    setrlimit(RLIMIT_NOFILE, &usual);
    refusals.insert(message.substr(0, message.find(':')));
    EXPECT_EQ(open_files(), before) << message;
  }
  EXPECT_THAT(refusals, ElementsAre((folder / "said").string(), "cannot make a pipe"));
}

// By then its number may be another file's.
TEST(BoundedOutput, ClosesItsFileOnce) {
  const TemporaryFolder folder;
  auto output = std::make_unique<BoundedOutput>(folder / "said");
  output->started();
  output->finish();
  const int another = open("/dev/null", O_RDONLY);

  output.reset();

  EXPECT_NE(fcntl(another, F_GETFD), -1);
  close(another);
}

TEST(BoundedOutput, NeverBlocksAProgramWhoseOutputCannotBeWritten) {
  BoundedOutput output("/dev/full", 1 << 20, 1 << 20);
  const int inlet = dup(output.inlet());
  output.started();
  const std::string many(1 << 16, 'x');
  for (int i = 0; i < 100; ++i) ASSERT_EQ(write(inlet, many.data(), many.size()), std::ssize(many));
  close(inlet);
  output.finish();
}

}  // namespace
}  // namespace plumbline::testing
