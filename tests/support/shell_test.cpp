// SPDX-License-Identifier: BSD-3-Clause
#include "support/shell.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdio>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

/// The words into which a shell splits a text, one on each line.
std::string words_of(const std::string& text) {
  const std::string command = "printf '%s\\n' " + text;
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string out;
  std::array<char, 256> part{};
  while (std::fgets(part.data(), part.size(), pipe) != nullptr) out += part.data();
  pclose(pipe);
  return out;
}

TEST(Shell, QuotedWordsReadBack) {
  const std::vector<std::string> words = {"plumbline", "a b", "it's", "$HOME `ls` \"x\" \\ *", "", "x;y&z|w", "{1,2}",
                                          "~",         "#no", "!x"};
  std::string expected;
  for (const auto& word : words) expected += word + "\n";

  EXPECT_EQ(words_of(shell_command(words)), expected);
}

TEST(Shell, PlainWordsAreNotQuoted) {
  EXPECT_EQ(shell_command({"sweep", "../a-b_c.toml", "--cells", "x-w2"}), "sweep ../a-b_c.toml --cells x-w2");
}

TEST(Shell, AWordWithControlCharactersStaysOnOneLine) {
  const std::string word = "a\nb'\\\x1b\xC3\xA9";
  EXPECT_EQ(shell_word(word), "$'a\\x0ab\\'\\\\\\x1b\\xc3\\xa9'");
}

TEST(Shell, SplitsAndUnquotesWordsAsAShellDoes) {
  EXPECT_THAT(shell_words(" a  'b c' \"d \\\"e\" f\\ g'' ''"), ::testing::ElementsAre("a", "b c", "d \"e", "f g", ""));
  EXPECT_THAT(shell_words(""), ::testing::IsEmpty());
  EXPECT_THAT(shell_words("sh -c 'a && b'"), ::testing::ElementsAre("sh", "-c", "a && b"));
  for (const std::string line : {"a 'b", "a && b", "a | b", "a > b", "a $B", "a \"`b`\""})
    EXPECT_THAT(testing::error_of<InputError>([&] { shell_words(line); }), ::testing::HasSubstr(line)) << line;
}

}  // namespace
}  // namespace plumbline
