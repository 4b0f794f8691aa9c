#include "harness/launch/bounded_output.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/temporary_folder.hpp"

namespace plumbline::testing {
namespace {

/// What is kept of these words, of which each is one write.
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

TEST(BoundedOutput, KeepsAllOfWhatIsShort) {
  EXPECT_EQ(kept_of({"one\n", "two\n"}, 100, 10), "one\ntwo\n");
  EXPECT_EQ(kept_of({"12345", "67890"}, 5, 5), "1234567890");
  EXPECT_EQ(kept_of({}, 5, 5), "");
}

TEST(BoundedOutput, KeepsTheFirstAndTheLastOfWhatIsLongAndSaysHowMuchIsGone) {
  EXPECT_EQ(kept_of({"12345", "67890", "abcdefg"}, 4, 3), "1234\n[10 bytes are left out here]\nefg");
  const std::string many(1 << 17, 'x');  // more than one read takes
  EXPECT_EQ(kept_of({many, many}, 4, 3), "xxxx\n[262137 bytes are left out here]\nxxx");
}

TEST(BoundedOutput, DoesNotWaitForWhoHoldsTheInletInTheBackground) {
  const TemporaryFolder folder;
  BoundedOutput output(folder / "said");
  const int held = dup(output.inlet());
  output.started();
  ASSERT_EQ(write(held, "here", 4), 4);

  output.finish();

  EXPECT_EQ(bytes_of(folder / "said"), "here");
  close(held);
}

TEST(BoundedOutput, NeverStopsAProgramWhoseWordsCannotBeWritten) {
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
