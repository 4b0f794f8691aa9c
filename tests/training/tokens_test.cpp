// SPDX-License-Identifier: BSD-3-Clause
#include "training/tokens.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/token_file_bytes.hpp"

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

DataSettings tokens_at(const std::filesystem::path& path, const std::optional<std::string>& token_type = {}) {
  DataSettings data;
  data.tokens = {path};
  data.token_type = token_type;
  return data;
}

std::vector<std::int64_t> all_of(const Tokens& tokens) {
  std::vector<std::int64_t> ids(static_cast<std::size_t>(tokens.size()));
  tokens.read(0, ids);
  return ids;
}

constexpr std::int64_t many = 1 << 30;  // vocabulary larger than any id in these files

std::vector<std::int64_t> ids_of(const std::filesystem::path& path,
                                 const std::optional<std::string>& token_type = "uint16") {
  return all_of(load_tokens(tokens_at(path, token_type), many));
}

std::string refusal(const std::filesystem::path& path, const std::optional<std::string>& token_type = {}) {
  return error_of<InputError>([&] { load_tokens(tokens_at(path, token_type), 65536); });
}

TEST(LoadTokens, ATextHasOneIdPerByte) {
  const TemporaryFolder folder;
  const auto path = folder.file("a.txt", "Az\n\xC3\xA9");

  EXPECT_THAT(all_of(load_tokens(text_at(path), 256)), ElementsAre(65, 122, 10, 0xC3, 0xA9));
}

TEST(LoadTokens, ReadsAFolderInNameOrder) {
  const TemporaryFolder folder;
  folder.file("b.txt", "B");
  folder.file("a.txt", "A");
  folder.file("10.txt", "1");
  folder.file("notes.md", "X");
  folder.file("deeper/c.txt", "X");
  std::filesystem::create_directory(folder / "c.txt");

  EXPECT_THAT(all_of(load_tokens(text_at(folder.path()), 256)), ElementsAre('1', 'A', 'B'));
}

TEST(LoadTokens, ARawFileIsLittleEndianUint16) {
  const TemporaryFolder folder;
  const auto path = folder.file("a.bin", std::string("\x01\x00\x34\x12\xFF\xFF", 6));

  EXPECT_THAT(all_of(load_tokens(tokens_at(path), 65536)), ElementsAre(1, 0x1234, 65535));
}

TEST(LoadTokens, ReadsAFourByteRawFileIfConfigured) {
  const TemporaryFolder folder;
  const auto path = folder.file("a.bin", testing::numbers<std::uint32_t>({7, 0x12345678}));

  EXPECT_THAT(ids_of(path, "uint32"), ElementsAre(7, 0x12345678));
  EXPECT_THAT(error_of<InputError>([&] { load_tokens(tokens_at(path), 65537); }),
              HasSubstr("a.bin: has no header with the width of its ids"));
  EXPECT_EQ(load_tokens(tokens_at(path), 65536).size(), 4) << "two bytes are enough for this vocabulary";
}

TEST(LoadTokens, ARawFileMayHaveAnyExtension) {
  const TemporaryFolder folder;

  EXPECT_THAT(ids_of(folder.file("ids.u16", testing::numbers<std::uint16_t>({3, 40000}))), ElementsAre(3, 40000));
}

TEST(LoadTokens, LlmcHeadersGiveTheWidth) {
  const TemporaryFolder folder;
  const auto narrow =
      folder.file("a.bin", testing::llmc_header(20240520, 1, 2) + testing::numbers<std::uint16_t>({5, 50256}));
  const auto wide =
      folder.file("b.bin", testing::llmc_header(20240801, 7, 2) + testing::numbers<std::uint32_t>({5, 128000}));

  EXPECT_THAT(ids_of(narrow, std::nullopt), ElementsAre(5, 50256));
  EXPECT_THAT(ids_of(wide, std::nullopt), ElementsAre(5, 128000));
  EXPECT_THAT(refusal(wide, "uint16"), HasSubstr("holds uint32 by its header, but data.token_type is uint16"));
}

TEST(LoadTokens, RefusesInconsistentLlmcHeaders) {
  const TemporaryFolder folder;
  const std::string ids = testing::numbers<std::uint16_t>({1, 2, 3});
  const auto says = [&](const std::string& bytes) { return refusal(folder.file("a.bin", bytes)); };

  EXPECT_THAT(says(testing::llmc_header(20240520, 1, 4) + ids),
              HasSubstr("a.bin: its header counts 4 ids, and 6 bytes follow, which is 3"));
  EXPECT_THAT(says(testing::llmc_header(20240520, 1, 2) + ids), HasSubstr("counts 2 ids"));
  EXPECT_THAT(says(testing::llmc_header(20240520, 1, -3) + ids), HasSubstr("counts -3 ids"));
  EXPECT_THAT(says(testing::llmc_header(20240520, 1, 3) + ids + "x"), HasSubstr("7 bytes follow"));
  EXPECT_THAT(says(testing::llmc_header(20240520, 2, 3) + ids), HasSubstr("version 2; supported is version 1"));
  EXPECT_THAT(says(testing::llmc_header(20240520, 1, 3).substr(0, 1000)), HasSubstr("ends within its header"));
  EXPECT_THAT(says(testing::llmc_header(20240520, 1, 0)), HasSubstr("holds no tokens"));
}

TEST(LoadTokens, ANumpyArrayGivesTheType) {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& descr, const std::string& ids, const std::string& shape = "(2,)") {
    return folder.file("a.npy", testing::numpy_header(descr, shape) + ids);
  };
  const std::string narrow = testing::numbers<std::uint16_t>({5, 50256});

  EXPECT_THAT(ids_of(with("<u2", narrow), std::nullopt), ElementsAre(5, 50256));
  EXPECT_THAT(ids_of(with("<u4", testing::numbers<std::uint32_t>({5, 128000})), std::nullopt), ElementsAre(5, 128000));
  EXPECT_THAT(ids_of(with("<i8", testing::numbers<std::int64_t>({5, 128000})), std::nullopt), ElementsAre(5, 128000));
  EXPECT_THAT(ids_of(with("|u1", "\x05\xff"), std::nullopt), ElementsAre(5, 255));
  EXPECT_THAT(error_of<InputError>([&] { ids_of(with("|i1", "\x05\xfa"), std::nullopt); }),
              HasSubstr("token -6 at token 1 is beyond"));
  EXPECT_THAT(refusal(with("<u2", narrow), "uint32"), HasSubstr("holds uint16 by its header"));
  EXPECT_THAT(refusal(with(">u2", narrow)), HasSubstr("'descr': '>u2'"));
  EXPECT_THAT(refusal(with("<f2", narrow)), HasSubstr("ids must be little-endian integers in one dimension"));
  EXPECT_THAT(refusal(with("<u2", narrow, "(1, 2)")), HasSubstr("'shape': (1, 2)"));
  EXPECT_THAT(refusal(with("<u2", narrow, "()")), HasSubstr("'shape': ()"));
  EXPECT_THAT(refusal(with("<u2", narrow, "(3,)")), HasSubstr("counts 3 ids of uint16, and 4 bytes follow"));
  EXPECT_THAT(refusal(with("<u2", narrow, "(-2,)")), HasSubstr("counts -2 ids"));
  EXPECT_THAT(refusal(with("<u2", "", "(0,)")), HasSubstr("holds no tokens"));
  for (const std::size_t bytes : {6, 7, 9, 40, 127}) {
    const auto path = folder.file("a.npy", testing::numpy_header("<u2", "(2,)").substr(0, bytes));
    EXPECT_THAT(refusal(path), HasSubstr("ends within its header")) << bytes;
  }
}

TEST(LoadTokens, RefusesArchivesAndTables) {
  const TemporaryFolder folder;
  const auto says = [&](const std::string& begin) {
    return refusal(folder.file("a.bin", begin + std::string(8, 'x')), "uint16");
  };

  EXPECT_THAT(says("PK\x03\x04"), HasSubstr("a.bin: is a zip archive"));
  EXPECT_THAT(says("\x1f\x8b\x08x"), HasSubstr("a.bin: is compressed by gzip"));
  EXPECT_THAT(says("PAR1"), HasSubstr("a.bin: is a Parquet file, not a list of ids"));
}

// Small ids in a wider type than the reader assumes: a zero follows each id.
TEST(LoadTokens, RefusesWiderIdsWithoutAGivenWidth) {
  const TemporaryFolder folder;
  std::vector<std::uint32_t> four;
  for (std::uint32_t id = 0; id < 20; ++id) four.push_back(1000 + id);
  const std::vector<std::int64_t> eight(four.begin(), four.end());
  std::vector<std::uint32_t> wide = four;
  wide.back() = 70000;
  const auto file = [&](const std::string& bytes) { return folder.file("a.bin", bytes); };

  EXPECT_THAT(refusal(file(testing::numbers(four))),
              HasSubstr("every second is 0, as if it holds uint32; write data.token_type = \"uint32\""));
  EXPECT_THAT(refusal(file(testing::numbers(eight))), HasSubstr("as if it holds int64; write it with numpy.save"));
  EXPECT_EQ(load_tokens(tokens_at(file(testing::numbers(four)), "uint16"), 65536).size(), 40) << "the width is given";
  EXPECT_EQ(load_tokens(tokens_at(file(testing::numbers(wide))), 65536).size(), 40);
  EXPECT_EQ(load_tokens(tokens_at(file(std::string(80, '\0'))), 65536).size(), 40) << "all zeros";
}

TEST(LoadTokens, AMegatronIndexGivesTheType) {
  const TemporaryFolder folder;
  const auto with = [&](std::uint8_t code, std::int64_t width, const std::string& ids,
                        const std::vector<std::int32_t>& sequences) {
    folder.file("a.idx", testing::megatron_index(code, width, sequences));
    return folder.file("a.bin", ids);
  };

  EXPECT_THAT(ids_of(with(8, 2, testing::numbers<std::uint16_t>({1, 65535, 3}), {2, 1}), std::nullopt),
              ElementsAre(1, 65535, 3));
  EXPECT_THAT(ids_of(with(4, 4, testing::numbers<std::int32_t>({70000, 2, 3}), {3}), std::nullopt),
              ElementsAre(70000, 2, 3));
  EXPECT_THAT(ids_of(folder / "a.idx", std::nullopt), ElementsAre(70000, 2, 3)) << "the index names its .bin";
  EXPECT_THAT(ids_of(folder / "a.*", std::nullopt), ElementsAre(70000, 2, 3)) << "index and .bin count once";
  EXPECT_THAT(ids_of(with(1, 1, "\xff", {1}), std::nullopt), ElementsAre(255));
  EXPECT_THAT(ids_of(with(2, 1, "\x7f", {1}), std::nullopt), ElementsAre(127));
  EXPECT_THAT(ids_of(with(3, 2, testing::numbers<std::int16_t>({32767}), {1}), std::nullopt), ElementsAre(32767));
  EXPECT_THAT(ids_of(with(5, 8, testing::numbers<std::int64_t>({3, 900000000}), {1, 1}), std::nullopt),
              ElementsAre(3, 900000000));
  folder.file("a.idx", testing::megatron_index(4, 4, {2}) + std::string(1, '\0'));  // a byte a sequence: modes
  folder.file("a.bin", testing::numbers<std::int32_t>({5, -6}));
  EXPECT_THAT(error_of<InputError>([&] { ids_of(folder / "a.bin", std::nullopt); }),
              HasSubstr("token -6 at token 1 is beyond"));
  EXPECT_THAT(error_of<InputError>([&] {
                ids_of(with(3, 2, testing::numbers<std::int16_t>({5, -6}), {2}), std::nullopt);
              }),
              HasSubstr("token -6 at token 1 is beyond"));
  EXPECT_THAT(error_of<InputError>([&] { ids_of(with(2, 1, "\x05\xfa", {2}), std::nullopt); }),
              HasSubstr("token -6 at token 1 is beyond"));
}

TEST(LoadTokens, TheLastMegatronSequenceMayBeEmpty) {
  const TemporaryFolder folder;
  folder.file("a.idx", testing::megatron_index(8, 2, {2, 0}));

  EXPECT_THAT(ids_of(folder.file("a.bin", testing::numbers<std::uint16_t>({4, 5})), std::nullopt), ElementsAre(4, 5));
}

// Sequences take 12 bytes of an index and documents 8: with this many, the sum of bytes wraps to 0 in 64 bits.
TEST(LoadTokens, RefusesAnIndexThatOverflows) {
  const TemporaryFolder folder;
  const std::string one = testing::megatron_index(8, 2, {2}), ids = testing::numbers<std::uint16_t>({1, 2});
  const auto says = [&](std::uint64_t sequences, std::uint64_t documents, const std::string& listed) {
    std::string counts(16, '\0');
    std::memcpy(counts.data(), &sequences, sizeof sequences);
    std::memcpy(counts.data() + 8, &documents, sizeof documents);
    folder.file("a.idx", one.substr(0, 18) + counts + listed);
    return refusal(folder.file("a.bin", ids));
  };

  EXPECT_THAT(says(std::uint64_t{1} << 62U, 0, ""), HasSubstr("and 0 bytes follow: the file is truncated"));
  EXPECT_THAT(says(1, std::uint64_t{1} << 61U, one.substr(34, 12)),
              HasSubstr("12 bytes follow: the file is truncated"));
}

TEST(LoadTokens, RefusesInconsistentMegatronIndexes) {
  const TemporaryFolder folder;
  const std::string good = testing::megatron_index(8, 2, {2, 1}), ids = testing::numbers<std::uint16_t>({1, 2, 3});
  const auto says = [&](const std::string& index, const std::string& bytes) {
    folder.file("a.idx", index);
    return refusal(folder.file("a.bin", bytes));
  };
  std::string version = good, type = good, many_sequences = good;
  version[9] = 2;
  type[17] = 7;
  many_sequences[25] = '\x7f';

  EXPECT_THAT(says(good.substr(0, 20), ids), HasSubstr("a.idx: is not a Megatron index (MMIDIDX), or ends within"));
  EXPECT_THAT(says("MMIDIDY" + good.substr(7), ids), HasSubstr("a.idx: is not a Megatron index"));
  EXPECT_THAT(says(good.substr(0, good.size() - 1), ids), HasSubstr("the file is truncated"));
  EXPECT_THAT(says(many_sequences, ids), HasSubstr("the file is truncated"));
  EXPECT_THAT(says(good + "xx" + good, ids), HasSubstr("has extra bytes"));
  EXPECT_THAT(says(version, ids), HasSubstr("version 2; supported is version 1"));
  EXPECT_THAT(says(type, ids), HasSubstr("dtype 7 is not one of Megatron's integers"));
  EXPECT_THAT(says(good, ids.substr(0, 4)), HasSubstr("a.bin: has 4 bytes, and by"));
  EXPECT_THAT(says(good, ids + "xx"), HasSubstr("a.bin: has 8 bytes, and by"));
  EXPECT_THAT(says(testing::megatron_index(8, 2, {}), ""), HasSubstr("holds no tokens"));
  std::filesystem::remove(folder / "a.bin");
  EXPECT_THAT(refusal(folder / "a.idx"), HasSubstr("a.idx: is an index without its a.bin"));
  EXPECT_THAT(refusal(folder / "*"), HasSubstr("a.idx: is an index without its a.bin"));
}

TEST(LoadTokens, ShardsFollowOneAnotherInNameOrder) {
  const TemporaryFolder folder;
  folder.file("b/10.bin", testing::numbers<std::uint16_t>({10}));
  folder.file("b/9.bin", testing::numbers<std::uint16_t>({9, 90}));
  folder.file("a-b/1.bin", testing::numbers<std::uint16_t>({1}));
  folder.file("a/2.bin", testing::numbers<std::uint16_t>({2}));
  DataSettings listed = tokens_at(folder / "b/9.bin");
  listed.tokens.push_back(folder / "a/*.bin");
  DataSettings twice = tokens_at(folder / "b/9.bin");
  twice.tokens.push_back(folder / "b/*.bin");

  EXPECT_THAT(ids_of(folder / "*/*.bin"), ElementsAre(1, 2, 10, 9, 90)) << "- sorts before /";
  EXPECT_THAT(all_of(load_tokens(listed, 100)), ElementsAre(9, 90, 2));
  EXPECT_THAT(error_of<InputError>([&] { load_tokens(twice, 100); }), HasSubstr("b/9.bin: data.tokens names it twice"));
  EXPECT_THAT(refusal(folder / "c*/*.bin"), HasSubstr("matches no file"));
}

TEST(LoadTokens, RefusesAnEmptyShardAndMixedWidths) {
  const TemporaryFolder folder;
  folder.file("1.bin", testing::numbers<std::uint16_t>({1}));
  folder.file("2.bin", "");
  const std::string empty = refusal(folder / "*.bin");
  folder.file("2.bin", testing::llmc_header(20240801, 7, 1) + testing::numbers<std::uint32_t>({5}));

  EXPECT_THAT(empty, HasSubstr("2.bin: the file holds no tokens"));
  EXPECT_THAT(refusal(folder / "*.bin"),
              HasSubstr("2.bin: holds uint32, and " + (folder / "1.bin").string() + " uint16; all files of a source"));
}

TEST(Tokens, WrapAroundAcrossUnalignedFiles) {
  const TemporaryFolder folder;
  folder.file("1.bin", testing::numbers<std::uint16_t>({0, 1, 2}));
  folder.file("2.bin", testing::numbers<std::uint16_t>({3}));
  folder.file("3.bin", testing::numbers<std::uint16_t>({4, 5}));
  const Tokens tokens = load_tokens(tokens_at(folder / "*.bin"), 100);
  std::vector<std::int64_t> read(15);

  for (std::int64_t position = 0; position < 13; ++position) {
    tokens.read(position, read);
    for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(read[i], (position + static_cast<std::int64_t>(i)) % 6);
  }
}

/// Bytes in an entry of /proc/self/status.
std::int64_t kibibytes(const std::string& entry) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(entry + ":")) return std::stoll(line.substr(entry.size() + 1));
  }
  return -1;
}

// A mapped file is not resident: a file of 20 GB costs only the pages that are read.
TEST(Tokens, MapsALargeFile) {
  const TemporaryFolder folder;
  const auto path = folder.file("large.bin", testing::numbers<std::uint16_t>({7, 8}));
  constexpr std::int64_t bytes = 20'000'000'000;
  std::filesystem::resize_file(path, bytes);  // sparse
  const std::int64_t resident = kibibytes("VmRSS"), mapped = kibibytes("VmSize");

  const Tokens tokens = load_tokens(tokens_at(path), 256);
  std::vector<std::int64_t> last(3);
  tokens.read(tokens.size() - 1, last);

  EXPECT_EQ(tokens.size(), bytes / 2);
  EXPECT_THAT(last, ElementsAre(0, 7, 8)) << "positions beyond 32 bits";
  EXPECT_GT(kibibytes("VmSize") - mapped, bytes / 1024 - 1);
  EXPECT_LT(kibibytes("VmRSS") - resident, 50 * 1024);
}

TEST(LoadTokens, NamesTheOffsetOfInvalidUtf8) {
  const TemporaryFolder folder;
  const auto path = folder.file("latin.txt", "abc\xE9 d");

  const std::string message = error_of<InputError>([&] { load_tokens(text_at(path), 256); });

  EXPECT_THAT(message, HasSubstr("latin.txt"));
  EXPECT_THAT(message, HasSubstr("offset 3"));
}

TEST(LoadTokens, ChecksEveryTextOfAFolder) {
  const TemporaryFolder folder;
  folder.file("1.txt", "ab");
  const auto second = [&](const std::string& bytes, std::int64_t vocab_size) {
    folder.file("2.txt", bytes);
    return error_of<InputError>([&] { load_tokens(text_at(folder.path()), vocab_size); });
  };

  EXPECT_THAT(second("\xE9 d", 256), HasSubstr("2.txt: not UTF-8: invalid byte at offset 0"));
  EXPECT_THAT(second("a~", 126), HasSubstr("token 126 at byte 1"));
  EXPECT_THAT(second("a\xC3\xA9", 128), HasSubstr("token 195 at byte 1")) << "bytes above 127 are not negative";
}

TEST(LoadTokens, NamesAnIdBeyondTheVocabulary) {
  const TemporaryFolder folder;
  const auto text = folder.file("a.txt", "ab~d");
  const auto bin = folder.file("a.bin", std::string("\x01\x00\x00\x02", 4));

  const std::string in_text = error_of<InputError>([&] { load_tokens(text_at(text), 126); });  // before the first step
  const Tokens tokens = load_tokens(tokens_at(bin), 512);                                      // when it is read
  const std::string in_bin = error_of<InputError>([&] { all_of(tokens); });

  EXPECT_THAT(in_text, HasSubstr("token 126 at byte 2"));
  EXPECT_THAT(in_text, HasSubstr("vocabulary of 126"));
  EXPECT_THAT(in_bin, HasSubstr("token 512 at token 1"));
  EXPECT_NO_THROW(all_of(load_tokens(text_at(text), 127)));
  EXPECT_NO_THROW(all_of(load_tokens(tokens_at(bin), 513)));
}

TEST(LoadTokens, RefusesEmptyMissingAndTruncatedFiles) {
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

TEST(LoadIgnored, HasOneByteForEachToken) {
  const TemporaryFolder folder;
  DataSettings data = text_at("a.txt");
  data.ignore = {folder.file("first.mask", std::string("\0\1", 2)), folder.file("second.mask", "\1")};

  EXPECT_THAT(all_of(load_ignored(data, 3).value()), ElementsAre(0, 1, 1));
  EXPECT_THAT(error_of<InputError>([&] { load_ignored(data, 2); }),
              HasSubstr("first.mask: data.ignore has 3 bytes, and a.txt 2 tokens; it has one byte for each token"));
}

}  // namespace
}  // namespace plumbline
