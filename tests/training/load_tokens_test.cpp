#include "training/load_tokens.hpp"

#include <gmock/gmock.h>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

DataSettings text_at(const std::filesystem::path& path) {
  DataSettings data;
  data.text = path;
  return data;
}

DataSettings tokens_at(const std::filesystem::path& path) {
  DataSettings data;
  data.tokens = path;
  return data;
}

TEST(LoadTokens, ATextHasOneIdAByte) {
  const TemporaryFolder folder;
  const auto path = folder.file("a.txt", "Az\n\xC3\xA9");

  EXPECT_THAT(load_tokens(text_at(path), 256), ElementsAre(65, 122, 10, 0xC3, 0xA9));
}

TEST(LoadTokens, AFolderIsReadInNameOrder) {
  const TemporaryFolder folder;
  folder.file("b.txt", "B");
  folder.file("a.txt", "A");
  folder.file("10.txt", "1");
  folder.file("notes.md", "X");
  folder.file("deeper/c.txt", "X");

  EXPECT_THAT(load_tokens(text_at(folder.path()), 256), ElementsAre('1', 'A', 'B'));
}

TEST(LoadTokens, ABinFileIsLittleEndianUint16) {
  const TemporaryFolder folder;
  const auto path = folder.file("a.bin", std::string("\x01\x00\x34\x12\xFF\xFF", 6));

  EXPECT_THAT(load_tokens(tokens_at(path), 65536), ElementsAre(1, 0x1234, 65535));
}

TEST(LoadTokens, BytesThatAreNoUtf8AreNamedWithTheirOffset) {
  const TemporaryFolder folder;
  const auto path = folder.file("latin.txt", "abc\xE9 d");

  const std::string message = error_of<InputError>([&] { load_tokens(text_at(path), 256); });

  EXPECT_THAT(message, HasSubstr("latin.txt"));
  EXPECT_THAT(message, HasSubstr("offset 3"));
}

TEST(LoadTokens, AnIdBeyondTheVocabularyIsNamedWithItsPlace) {
  const TemporaryFolder folder;
  const auto text = folder.file("a.txt", "ab~d");
  const auto bin = folder.file("a.bin", std::string("\x01\x00\x00\x02", 4));

  const std::string in_text = error_of<InputError>([&] { load_tokens(text_at(text), 126); });
  const std::string in_bin = error_of<InputError>([&] { load_tokens(tokens_at(bin), 512); });

  EXPECT_THAT(in_text, HasSubstr("token 126 at byte 2"));
  EXPECT_THAT(in_text, HasSubstr("vocabulary of 126"));
  EXPECT_THAT(in_bin, HasSubstr("token 512 at token 1"));
  EXPECT_NO_THROW(load_tokens(text_at(text), 127));
  EXPECT_NO_THROW(load_tokens(tokens_at(bin), 513));
}

TEST(LoadTokens, EmptyMissingAndTruncatedFilesAreRefused) {
  const TemporaryFolder folder;
  const TemporaryFolder without_texts;

  EXPECT_THAT(error_of<InputError>([&] { load_tokens(text_at(folder.file("e.txt", "")), 256); }), HasSubstr("empty"));
  EXPECT_THAT(error_of<InputError>([&] { load_tokens(tokens_at(folder.file("e.bin", "")), 256); }),
              HasSubstr("no tokens"));
  EXPECT_THAT(error_of<InputError>([&] { load_tokens(tokens_at(folder.file("odd.bin", "abc")), 256); }),
              HasSubstr("3 bytes"));
  EXPECT_THAT(error_of<InputError>([&] { load_tokens(text_at(without_texts.path()), 256); }),
              HasSubstr("no .txt file"));
  EXPECT_THAT(error_of<InputError>([&] { load_tokens(text_at(folder / "absent.txt"), 256); }), HasSubstr("absent.txt"));
}

}  // namespace
}  // namespace plumbline
