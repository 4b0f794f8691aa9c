// SPDX-License-Identifier: BSD-3-Clause
// The judge's reading of tokens, where fixtures/data_vectors.json (data_vectors_test.cpp) has no case: labels that do
// not count, signed ids, and files that are refused.
#include "harness/judge/request/token_source.hpp"

#include <gmock/gmock.h>

#include <set>
#include <span>

#include "record/digest.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/token_file_bytes.hpp"

namespace plumbline::judging {
namespace {

using ::testing::HasSubstr;

std::string digest_of(std::vector<std::int64_t> numbers, std::int64_t batch, std::int64_t sequence) {
  return tensor_digest("int64", {2, batch, sequence}, std::as_bytes(std::span(numbers)));
}

/// Ids 0..9 as bytes; position p of the ring holds p mod 10.
struct Ring {
  explicit Ring(std::uint64_t seed = 1) {
    data.files = {folder.file("a.bin", std::string("\0\1\2\3", 4)), folder.file("b.bin", "\4\5\6\7\10\11")};
    data.sizes = {4, 6};
    data.format = "bytes";
    data.seed = seed;
    start = static_cast<std::int64_t>(hash64("data/" + std::to_string(seed)) % 10);
  }
  std::int64_t id(std::int64_t position) const { return (start + position) % 10; }

  testing::TemporaryFolder folder;
  RequestedData data;
  std::int64_t start = 0;
};

TEST(TokenSource, AnIgnoredTokenIsAnIdButNoLabel) {
  Ring ring;
  std::string bytes(10, '\0');
  for (const std::int64_t position : {1, 3, 6}) bytes[static_cast<std::size_t>(ring.id(position))] = '\1';
  ring.data.ignore = {ring.folder.file("first.bin", bytes.substr(0, 3)), ring.folder.file("rest.bin", bytes.substr(3))};
  ring.data.ignore_sizes = {3, 7};
  const std::vector<RequestedMicrobatch> requested = {{{3, 1}, false}, {{2, 2}, false}};
  TokenSource source(ring.data, requested);

  const auto id = [&](std::int64_t position) { return ring.id(position); };
  EXPECT_EQ(source.data_digest(0, 0), digest_of({id(0), id(1), id(2), id(3), 0, 0,  //
                                                 -100, id(2), -100, id(4), -100, -100},
                                                2, 3));
  EXPECT_EQ(source.valid_tokens(0, 0), 2);
  EXPECT_EQ(source.valid_tokens(0, 1), 3);

  ring.data.ignore_sizes = {3, 8};
  EXPECT_THROW(TokenSource(ring.data, requested), InputError);
  ring.data.ignore.pop_back();
  ring.data.ignore_sizes.pop_back();
  EXPECT_THAT(plumbline::testing::error_of<InputError>([&] { TokenSource(ring.data, requested); }),
              HasSubstr("data.ignore has 3 bytes for 10 tokens"));
}

/// A header of llm.c (256 numbers of 32 bits) and these bytes.
std::string with_header(std::uint32_t magic, std::uint32_t count, const std::string& ids) {
  std::string bytes(1024, '\0');
  const auto put = [&](std::size_t place, std::uint32_t number) {
    for (std::size_t i = 0; i < 4; ++i) bytes[4 * place + i] = static_cast<char>(number >> (8 * i) & 0xff);
  };
  put(0, magic), put(1, 1), put(2, count);
  return bytes + ids;
}

class HeadedTokens : public ::testing::Test {
 protected:
  /// The digest of the file's first id and the next one, or why the file is refused.
  std::string digest(const std::string& name, const std::string& bytes) {
    ring_.data.files = {ring_.folder.file(name, bytes)};
    ring_.data.sizes = {static_cast<std::int64_t>(bytes.size())};
    ring_.data.format = "uint16";
    ring_.data.seed = 0;
    try {
      TokenSource source(ring_.data, asked_);
      return source.data_digest(0, 0);
    } catch (const InputError& error) {
      return error.what();
    }
  }
  Ring ring_;
  const std::vector<RequestedMicrobatch> asked_ = {{{1}, false}};
};

TEST_F(HeadedTokens, HaveTheHeadersWidthAndNumber) {
  const std::string same = std::string("\1\2\0\0", 4) + std::string("\1\2\0\0", 4);  // 513, 513 as uint32
  EXPECT_EQ(digest("a.bin", with_header(20240801, 2, same)), digest_of({513, 513}, 1, 1));
  EXPECT_EQ(digest("b.bin", with_header(20240520, 2, "\1\2\1\2")), digest_of({513, 513}, 1, 1));
  EXPECT_THAT(digest("c.bin", with_header(20240520, 3, "\1\2\1\2")), HasSubstr("other ids than its header counts"));
  EXPECT_THAT(digest("d.bin", with_header(20240801, 1, same)), HasSubstr("other ids than its header counts"));
}

TEST_F(HeadedTokens, FollowANumpyHeader) {
  const auto array = [&](const std::string& descr, const std::string& shape, const std::string& ids) {
    return digest("a.npy", testing::numpy_header(descr, shape) + ids);
  };
  EXPECT_EQ(array("<u2", "(2,)", "\1\2\1\2"), digest_of({513, 513}, 1, 1));
  EXPECT_EQ(array("|i1", "(2,)", "\377\377"), digest_of({-1, -1}, 1, 1));
  EXPECT_THAT(array("<u2", "(3,)", "\1\2\1\2"), HasSubstr("other ids than its header counts"));
  EXPECT_THAT(array("<u2", "(2, 1)", "\1\2\1\2"), HasSubstr("not of integers in one dimension"));
  EXPECT_THAT(array(">u2", "(2,)", "\1\2\1\2"), HasSubstr("not of integers in one dimension"));
}

TEST_F(HeadedTokens, AnotherMagicNumberMeansNoHeader) {
  std::string bytes;
  for (int i = 0; i < 600; ++i) bytes += "\1\2";
  EXPECT_EQ(digest("a.bin", bytes), digest_of({513, 513}, 1, 1));
}

TEST_F(HeadedTokens, AFileWithOnlyAHeaderHasNoTokens) {
  EXPECT_THAT(digest("a.bin", with_header(20240520, 0, "")), HasSubstr("has no tokens"));
}

TEST_F(HeadedTokens, HaveTheIndexsType) {
  const auto with_type = [](char type) {
    std::string index(18, '\0');
    index.back() = type;
    return index;
  };
  ring_.folder.file("a.idx", with_type(3));
  EXPECT_EQ(digest("a.bin", "\377\377\377\377"), digest_of({-1, -1}, 1, 1)) << "int16";
  ring_.folder.file("a.idx", with_type(8));
  EXPECT_EQ(digest("a.bin", "\377\377\377\377"), digest_of({65535, 65535}, 1, 1)) << "uint16";
  ring_.folder.file("a.idx", with_type(6));
  EXPECT_THAT(digest("a.bin", "1234"), HasSubstr("a.idx: is not an index of"));
  ring_.folder.file("a.idx", with_type(3).substr(0, 17));
  EXPECT_THAT(digest("a.bin", "1234"), HasSubstr("a.idx: is not an index of"));
  EXPECT_EQ(digest("a.other", "\1\2\1\2"), digest_of({513, 513}, 1, 1)) << "only a .bin has an index";
}

TEST(TokenSource, WindowsNeedOneTokenMoreThanTheLongestRow) {
  Ring ring;
  ring.data.shuffle = "windows";
  const auto fits = [&](std::int64_t longest) {
    const std::vector<RequestedMicrobatch> requested = {{{1}, false}, {{longest}, false}};
    try {
      TokenSource source(ring.data, requested);
      return source.data_digest(0, 1);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(fits(9), digest_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 1, 9)) << "the only window";
  EXPECT_THAT(fits(10), HasSubstr("shorter than one window (its longest row)"));
}

TEST(TokenSource, AWindowNeedsItsLastLabel) {
  Ring ring;
  ring.data.shuffle = "windows";
  const std::vector<RequestedMicrobatch> requested = {{{5}, false}};
  TokenSource source(ring.data, requested);

  for (const std::int64_t step : {0, 1, 2}) {  // the first 6 of 10 tokens; the other 4 make no window
    EXPECT_EQ(source.data_digest(step, 0), digest_of({0, 1, 2, 3, 4, 1, 2, 3, 4, 5}, 1, 5)) << step;
  }
}

TEST(TokenSource, NamesChangedFiles) {
  const auto refusal = [](const RequestedData& data) -> std::string {
    const std::vector<RequestedMicrobatch> requested = {{{1}, false}};
    try {
      TokenSource source(data, requested);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  const Ring ring;
  RequestedData gone = ring.data, grown = ring.data, odd = ring.data, empty = ring.data;
  gone.files[1] = ring.folder / "gone.bin";
  grown.sizes[0] = 5;
  RequestedData shrunk = ring.data;
  shrunk.sizes[0] = 3;
  odd.files = {ring.folder.file("odd.bin", "123")};
  odd.sizes = {3};
  odd.format = "uint16";
  empty.files.clear();
  empty.sizes.clear();

  EXPECT_THAT(refusal(gone), HasSubstr("gone.bin: cannot read the data again"));
  EXPECT_THAT(refusal(grown), HasSubstr("has 4 bytes, but had 5"));
  EXPECT_THAT(refusal(shrunk), HasSubstr("has 4 bytes, but had 3"));
  EXPECT_THAT(refusal(odd), HasSubstr("not a whole number"));
  EXPECT_THAT(refusal(empty), HasSubstr("no token"));
}

}  // namespace
}  // namespace plumbline::judging
