// SPDX-License-Identifier: BSD-3-Clause
#include "support/safetensors.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstring>

#include "support/error.hpp"
#include "support/tensor_files.hpp"
#include "tests/paths.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::bytes_of;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

template <typename Value>
NamedBytes tensor(const std::string& name, const std::string& dtype, std::vector<std::int64_t> shape,
                  const std::vector<Value>& values) {
  return {name, {dtype, std::move(shape), std::as_bytes(std::span(values))}};
}

class Safetensors : public ::testing::Test {
 protected:
  /// A file with this header and this many data bytes.
  std::filesystem::path file(const std::string& header, std::size_t data_bytes) const {
    const std::uint64_t length = header.size();
    return folder.file("t.safetensors",
                       std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(data_bytes, '\1'));
  }
  std::string refusal(const std::string& header, std::size_t data_bytes) const {
    return error_of<InputError>([&] { SafetensorsFile(file(header, data_bytes)); });
  }
  std::string refusal_of(const std::string& bytes) const {
    return error_of<InputError>([&] { SafetensorsFile(folder.file("t", bytes)); });
  }
  TemporaryFolder folder;
};

TEST_F(Safetensors, RoundTrips) {
  const std::vector<float> floats{1, -2, 3, -0.0f, 5, 6};
  const std::vector<std::int64_t> integers{-100};
  const std::vector<float> none;

  write_safetensors(folder / "t.safetensors",
                    {tensor("z", "float32", {2, 3}, floats), tensor("a", "int64", {}, integers),
                     tensor("empty", "float32", {0, 4}, none)});
  const SafetensorsFile file(folder / "t.safetensors");

  EXPECT_EQ(file.entries().size(), 3u);
  const auto& z = file.at("z");
  EXPECT_EQ(z.dtype, "float32");
  EXPECT_THAT(z.shape, ElementsAre(2, 3));
  ASSERT_EQ(z.bytes.size(), 24u);
  EXPECT_EQ(std::memcmp(z.bytes.data(), floats.data(), 24), 0);
  EXPECT_EQ(std::memcmp(file.at("a").bytes.data(), integers.data(), 8), 0);
  EXPECT_TRUE(file.at("a").shape.empty());
  EXPECT_EQ(file.at("empty").bytes.size(), 0u);
}

TEST_F(Safetensors, DataIsAlignedAndInTheGivenOrder) {
  const std::vector<float> one{1}, two{2};

  write_safetensors(folder / "t.safetensors", {tensor("z", "float32", {1}, one), tensor("a", "float32", {1}, two)});

  const std::string bytes = bytes_of(folder / "t.safetensors");
  const SafetensorsFile file(folder / "t.safetensors");
  EXPECT_EQ(file.at("z").bytes.data() + 4, file.at("a").bytes.data());
  EXPECT_EQ((bytes.size() - 8) % 8, 0u);
  EXPECT_THAT(bytes, HasSubstr(R"("__metadata__":{"format":"pt"})"));
}

TEST_F(Safetensors, ReadsAFileOfTheHubsWriter) {
  const SafetensorsFile file(std::filesystem::path(testing::fixtures_path()) / "hf_golden/tied_gqa/io.safetensors");

  const auto& ids = file.at("input_ids");
  EXPECT_EQ(ids.dtype, "int64");
  EXPECT_THAT(ids.shape, ElementsAre(2, 32));
  EXPECT_EQ(ids.bytes.size(), 512u);
}

TEST_F(Safetensors, BytesStayValidInACopy) {
  const std::vector<float> values{7};
  write_safetensors(folder / "t.safetensors", {tensor("a", "float32", {1}, values)});

  const auto copy = SafetensorsFile(folder / "t.safetensors");

  EXPECT_EQ(std::memcmp(copy.at("a").bytes.data(), values.data(), 4), 0);
  EXPECT_EQ(copy.path(), folder / "t.safetensors");
}

TEST_F(Safetensors, NamesAMissingTensorAndTheNearestName) {
  const SafetensorsFile opened(file(R"({"lm_head.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 4));

  EXPECT_THAT(error_of<InputError>([&] { opened.at("lm_head.wieght"); }),
              HasSubstr("holds no tensor lm_head.wieght; the nearest name is lm_head.weight"));
}

TEST_F(Safetensors, TruncatedFilesAreRefused) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";

  EXPECT_THAT(refusal(header, 7), HasSubstr("tensor a: ends at data byte 8 of 7; the file is truncated"));
  EXPECT_THAT(refusal_of(""), HasSubstr("is empty"));
  EXPECT_THAT(refusal_of("1234567"), HasSubstr("shorter than 8"));
  EXPECT_THAT(refusal_of(std::string(20, '\xFF')), HasSubstr("announces a header of"));
  const std::string of_9 = std::string("\11\0\0\0\0\0\0\0", 8) + "{}      ";  // and 8 follow
  EXPECT_THAT(refusal_of(of_9), HasSubstr("announces a header of 9 bytes in a file of 16"));
  EXPECT_THAT(error_of<InputError>([&] { SafetensorsFile(folder / "absent"); }), HasSubstr("No such file"));
  EXPECT_THAT(error_of<InputError>([&] { SafetensorsFile(folder.path()); }), HasSubstr("is not a file"));
}

TEST_F(Safetensors, EveryByteBelongsToOneTensor) {
  EXPECT_THAT(
      refusal(
          R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
          12),
      HasSubstr("tensor b: begins at data byte 4, the previous one ends at 8"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8),
              HasSubstr("begins at data byte 4"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 6),
              HasSubstr("2 bytes after the last tensor"));
}

TEST_F(Safetensors, ShapeAndBytesMustAgree) {
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
              HasSubstr("tensor a: F32 of shape [3] takes 12"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4), HasSubstr("tensor a"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
              HasSubstr("too large"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}})", 0), HasSubstr("must give dtype"));
}

TEST_F(Safetensors, MalformedHeadersAreRefused) {
  EXPECT_THAT(refusal(R"({"a":)", 0), HasSubstr("not valid JSON"));
  EXPECT_THAT(refusal("[]", 0), HasSubstr("not a JSON object"));
  EXPECT_THAT(refusal(std::string(100000, '['), 0), HasSubstr(", header: not valid JSON: nested more than 64 deep"));
  EXPECT_THAT(refusal(R"({"a":{"dtype":"F8","shape":[1],"data_offsets":[0,1]}})", 1),
              HasSubstr("tensor a: dtype F8 is not known"));
  EXPECT_THAT(refusal(R"({"a":{"shape":[1],"data_offsets":[0,1]}})", 1), HasSubstr("tensor a: the header must give"));
}

TEST_F(Safetensors, AnImpossibleTensorIsAProgrammersError) {
  const std::vector<float> values{1, 2};

  EXPECT_THROW(write_safetensors(folder / "t", {tensor("a", "float32", {3}, values)}), std::logic_error);
  EXPECT_THROW(write_safetensors(folder / "t", {tensor("a", "float8", {2}, values)}), std::logic_error);
  EXPECT_THROW(
      write_safetensors(folder / "t", {tensor("a", "float32", {2}, values), tensor("a", "float32", {2}, values)}),
      std::logic_error);
  EXPECT_FALSE(std::filesystem::exists(folder / "t"));
}

TEST_F(Safetensors, AFullDiskIsASystemError) {
  const std::vector<float> values{1, 2};

  EXPECT_THROW(write_safetensors("/dev/full", {tensor("a", "float32", {2}, values)}), SystemError);
}

TEST(DtypeSize, KnowsOurNames) {
  for (const auto& [dtype, size] :
       {std::pair{"float32", 4U}, {"float64", 8U}, {"bfloat16", 2U}, {"float16", 2U}, {"int64", 8U}, {"F32", 0U}})
    EXPECT_EQ(dtype_size(dtype), size) << dtype;
}

class TensorFilesTest : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& tensor) const {
    write_safetensors(folder_ / file, {{tensor, {"float32", {1}, std::as_bytes(std::span(one_))}}});
  }
  std::string refusal_of_numbered() const {
    return error_of<InputError>([&] { TensorFiles::numbered(folder_.path(), "state"); });
  }
  std::string refusal_of_model() const {
    return error_of<InputError>([&] { TensorFiles::of_model(folder_.path()); });
  }

  testing::TemporaryFolder folder_;
  std::array<float, 1> one_{1};
};

TEST_F(TensorFilesTest, RefusesAMissingNumberedFile) {
  write(numbered_file("state", 1, 2), "a");
  EXPECT_THAT(refusal_of_numbered(),
              HasSubstr("state-00002-of-00002.safetensors: is missing; by the names of the others"));

  write(numbered_file("state", 2, 2), "b");
  EXPECT_EQ(TensorFiles::numbered(folder_.path(), "state").names(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(TensorFilesTest, RefusesAFolderWithoutAFirstFile) {
  EXPECT_THAT(refusal_of_numbered(), HasSubstr("holds no state-00001-of-00001.safetensors or the like"));
}

TEST_F(TensorFilesTest, RefusesATensorInTwoFiles) {
  write(numbered_file("state", 1, 2), "a");
  write(numbered_file("state", 2, 2), "a");
  EXPECT_THAT(refusal_of_numbered(), HasSubstr("tensor a is in"));
}

TEST_F(TensorFilesTest, AnIndexMayNameOnlyFilesOfItsFolder) {
  folder_.file("model.safetensors.index.json", R"({"weight_map": {"a": "../other.safetensors"}})");
  EXPECT_THAT(refusal_of_model(), HasSubstr("tensor a: names a file that is not in this folder"));
  folder_.file("model.safetensors.index.json", R"({"weight_map": {"a": "other.safetensors"}})");
  EXPECT_THAT(refusal_of_model(), HasSubstr("should be in other.safetensors, which is missing"));
  for (const char* index : {"[]", "{}", R"({"weight_map": []})"}) {
    folder_.file("model.safetensors.index.json", index);
    EXPECT_THAT(refusal_of_model(), HasSubstr("has no weight_map, which names the file of each tensor")) << index;
  }
}

TEST_F(TensorFilesTest, RefusesAPickle) {
  folder_.file("model.safetensors", "PK\x03\x04 and more of a zip archive");
  EXPECT_THAT(refusal_of_model(), HasSubstr("is a pickle"));
}

}  // namespace
}  // namespace plumbline
