// The judge's own reading of the tokens, held to docs/data.md by small lists worked out by hand.
#include "harness/judge/request/token_source.hpp"

#include <gmock/gmock.h>

#include <span>

#include "record/digest.hpp"
#include "support/error.hpp"
#include "support/hash.hpp"
#include "tests/temporary_folder.hpp"

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

TEST(TokenSource, RowsFollowOneAnotherAcrossFilesStepsAndTheEnd) {
  const Ring ring;
  const std::vector<RequestedMicrobatch> asked = {{{3, 1}, false}, {{2, 2}, false}};  // 8 tokens a step
  TokenSource source(ring.data, asked);

  const auto id = [&](std::int64_t position) { return ring.id(position); };
  EXPECT_EQ(source.data_digest(0, 0), digest_of({id(0), id(1), id(2), id(3), 0, 0,  //
                                                 id(1), id(2), id(3), id(4), -100, -100},
                                                2, 3));
  EXPECT_EQ(source.data_digest(2, 1),
            digest_of({id(20), id(21), id(22), id(23), id(21), id(22), id(23), id(24)}, 2, 2));
}

TEST(TokenSource, AMaskedMicrobatchHasItsIdsAndNoLabel) {
  const Ring ring(7);
  const std::vector<RequestedMicrobatch> asked = {{{2}, true}};
  TokenSource source(ring.data, asked);

  EXPECT_EQ(source.data_digest(0, 0), digest_of({ring.id(0), ring.id(1), -100, -100}, 1, 2));
}

TEST(TokenSource, SixteenBitIdsAreLittleEndian) {
  Ring ring;
  ring.data.files = {ring.folder.file("c.bin", std::string("\1\2\1\2", 4))};
  ring.data.sizes = {4};
  ring.data.format = "uint16";
  const std::vector<RequestedMicrobatch> asked = {{{1}, false}};
  TokenSource source(ring.data, asked);

  EXPECT_EQ(source.data_digest(0, 0), digest_of({513, 513}, 1, 1));
}

TEST(TokenSource, FilesThatAreNotWhatTheyWereAreNamed) {
  const auto refusal = [](const RequestedData& data) -> std::string {
    const std::vector<RequestedMicrobatch> asked = {{{1}, false}};
    try {
      TokenSource source(data, asked);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  const Ring ring;
  RequestedData gone = ring.data, grown = ring.data, odd = ring.data, empty = ring.data;
  gone.files[1] = ring.folder / "gone.bin";
  grown.sizes[0] = 5;
  odd.files = {ring.folder.file("odd.bin", "123")};
  odd.sizes = {3};
  odd.format = "uint16";
  empty.files.clear();
  empty.sizes.clear();

  EXPECT_THAT(refusal(gone), HasSubstr("gone.bin: the data cannot be read again"));
  EXPECT_THAT(refusal(grown), HasSubstr("has 4 bytes, and had 5"));
  EXPECT_THAT(refusal(odd), HasSubstr("no whole number"));
  EXPECT_THAT(refusal(empty), HasSubstr("no token"));
}

}  // namespace
}  // namespace plumbline::judging
