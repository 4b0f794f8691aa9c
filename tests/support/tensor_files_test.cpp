// SPDX-License-Identifier: BSD-3-Clause
#include "support/tensor_files.hpp"

#include <gmock/gmock.h>

#include <array>

#include "support/error.hpp"
#include "support/safetensors.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

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

TEST_F(TensorFilesTest, NumberedOnesAreAllThere) {
  write(numbered_file("state", 1, 2), "a");
  EXPECT_THAT(refusal_of_numbered(),
              HasSubstr("state-00002-of-00002.safetensors: is missing; by the names of the others"));

  write(numbered_file("state", 2, 2), "b");
  EXPECT_EQ(TensorFiles::numbered(folder_.path(), "state").names(), (std::vector<std::string>{"a", "b"}));
}

TEST_F(TensorFilesTest, ATensorStandsInOneOfThem) {
  write(numbered_file("state", 1, 2), "a");
  write(numbered_file("state", 2, 2), "a");
  EXPECT_THAT(refusal_of_numbered(), HasSubstr("tensor a is in"));
}

TEST_F(TensorFilesTest, AnIndexNamesFilesOfItsOwnFolder) {
  folder_.file("model.safetensors.index.json", R"({"weight_map": {"a": "../other.safetensors"}})");
  EXPECT_THAT(refusal_of_model(), HasSubstr("tensor a: names no file of this folder"));
  folder_.file("model.safetensors.index.json", R"({"weight_map": {"a": "other.safetensors"}})");
  EXPECT_THAT(refusal_of_model(), HasSubstr("should be in other.safetensors, which is missing"));
}

TEST_F(TensorFilesTest, APickleIsNotRead) {
  folder_.file("model.safetensors", "PK\x03\x04 and more of a zip archive");
  EXPECT_THAT(refusal_of_model(), HasSubstr("is a pickle"));
}

}  // namespace
}  // namespace plumbline
