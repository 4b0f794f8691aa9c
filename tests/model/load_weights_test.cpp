// SPDX-License-Identifier: BSD-3-Clause
#include "model/load_weights.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "model/llama_slice.hpp"
#include "model/parameter.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/safetensors.hpp"
#include "tests/model/models.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using testing::make_slice;
using testing::small_config;
using testing::TemporaryFolder;
using testing::value_of;
using testing::whole;

using Weights = std::map<std::string, at::Tensor>;

const char* const q_proj = "model.layers.1.self_attn.q_proj.weight";

/// The values of a whole model, to be changed and written.
Weights weights_of(const LlamaConfig& config) {
  Weights weights;
  const LlamaSlice slice = make_slice(config, whole(config));
  for (const Parameter& parameter : slice.parameters()) {
    if (!parameter.alias) {
      weights[parameter.name] = parameter.value.detach().clone();
    }
  }
  return weights;
}

std::string dtype_text(at::ScalarType dtype) {
  static const std::map<at::ScalarType, std::string> names{{at::kFloat, "float32"},
                                                           {at::kDouble, "float64"},
                                                           {at::kBFloat16, "bfloat16"},
                                                           {at::kHalf, "float16"},
                                                           {at::kLong, "int64"}};
  return names.at(dtype);
}

std::filesystem::path write(const TemporaryFolder& folder, const Weights& weights) {
  std::vector<NamedBytes> entries;
  for (const auto& [name, value] : weights) {
    const auto* bytes = static_cast<const std::byte*>(value.const_data_ptr());
    entries.push_back({name, {dtype_text(value.scalar_type()), value.sizes().vec(), {bytes, value.nbytes()}}});
  }
  write_safetensors(folder / "model.safetensors", entries);
  return folder / "model.safetensors";
}

LlamaSlice loaded(const LlamaConfig& config, const std::filesystem::path& path, at::ScalarType dtype = at::kFloat) {
  LlamaSlice slice(config, whole(config), dtype);
  load_weights(slice, path);
  return slice;
}

TEST(LoadWeights, CopiesEveryBit) {
  const LlamaConfig config = small_config({{"attention_bias", true}});
  const TemporaryFolder folder;
  const Weights weights = weights_of(config);

  const LlamaSlice slice = loaded(config, write(folder, weights));

  for (const auto& [name, value] : weights) {
    EXPECT_TRUE(at::equal(value_of(slice, name), value)) << name;
  }
  EXPECT_EQ(slice.parameters().size(), weights.size());
}

TEST(LoadWeights, ReadsOnlyTheSlicesTensors) {
  const LlamaConfig config = small_config();
  const TemporaryFolder folder;
  Weights weights = weights_of(config);
  weights.erase("model.embed_tokens.weight");
  weights.erase("model.norm.weight");
  weights["model.layers.0.self_attn.rotary_emb.inv_freq"] = at::Tensor(weights.at(q_proj)).clone();
  LlamaSlice slice(config, {2, 3}, at::kFloat);

  load_weights(slice, write(folder, weights));

  EXPECT_TRUE(at::equal(value_of(slice, q_proj), weights.at(q_proj)));
}

TEST(LoadWeights, WidensAndNarrowsOnlyToBfloat16) {
  const LlamaConfig config = small_config();
  const Weights weights = weights_of(config);
  for (const auto& [file, slice, taken] :
       std::vector<std::tuple<at::ScalarType, at::ScalarType, bool>>{{at::kBFloat16, at::kFloat, true},
                                                                     {at::kHalf, at::kFloat, true},
                                                                     {at::kFloat, at::kDouble, true},
                                                                     {at::kBFloat16, at::kDouble, true},
                                                                     {at::kDouble, at::kDouble, true},
                                                                     {at::kBFloat16, at::kBFloat16, true},
                                                                     {at::kFloat, at::kBFloat16, true},
                                                                     {at::kHalf, at::kBFloat16, true},
                                                                     {at::kDouble, at::kBFloat16, false},
                                                                     {at::kDouble, at::kFloat, false},
                                                                     {at::kLong, at::kFloat, false}}) {
    const TemporaryFolder folder;
    Weights changed = weights;
    changed[q_proj] = weights.at(q_proj).to(file);
    const auto path = write(folder, changed);
    if (taken) {
      EXPECT_TRUE(at::equal(value_of(loaded(config, path, slice), q_proj), changed.at(q_proj).to(slice)));
    } else {
      EXPECT_THAT(error_of<InputError>([&, to = slice] { loaded(config, path, to); }),
                  AllOf(HasSubstr("model.safetensors"), HasSubstr(q_proj), HasSubstr("expected float32"),
                        HasSubstr("found " + dtype_text(file))));
    }
  }
}

TEST(LoadWeights, RoundsToTheNearestBfloat16TiesToEven) {
  const LlamaConfig config = small_config();
  const TemporaryFolder folder;
  Weights weights = weights_of(config);
  // 1 and 1 + 2^-7 are neighbors
  const std::vector<float> given{1 + 0x1p-8F, 1 + 0x1p-8F + 0x1p-20F, 1 + 3 * 0x1p-8F, 1 - 0x1p-9F};
  const std::vector<float> expected{1, 1 + 0x1p-7F, 1 + 0x1p-6F, 1};
  for (std::size_t i = 0; i < given.size(); ++i) {
    weights.at(q_proj).view(-1)[static_cast<std::int64_t>(i)].fill_(given[i]);
  }

  const at::Tensor read = value_of(loaded(config, write(folder, weights), at::kBFloat16), q_proj).detach();

  for (std::size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(read.view(-1)[static_cast<std::int64_t>(i)].item<float>(), expected[i]) << i;
  }
}

TEST(LoadWeights, LoadsMastersAndRoundsCopies) {
  const LlamaConfig config = small_config();
  const TemporaryFolder folder;
  const Weights weights = weights_of(config);
  LlamaSlice mixed(config, whole(config), at::kBFloat16);
  mixed.keep_masters();

  load_weights(mixed, write(folder, weights));

  for (const Parameter& parameter : mixed.parameters()) {
    EXPECT_TRUE(at::equal(parameter.master, weights.at(parameter.name))) << parameter.name;
    EXPECT_TRUE(at::equal(parameter.value.detach(), parameter.master.to(at::kBFloat16))) << parameter.name;
  }
}

TEST(LoadWeights, NamesAnotherShape) {
  const LlamaConfig config = small_config();
  const TemporaryFolder folder;
  Weights weights = weights_of(config);
  weights[q_proj] = weights.at(q_proj).slice(0, 0, 31).contiguous();

  EXPECT_THAT(error_of<InputError>([&] { loaded(config, write(folder, weights)); }),
              AllOf(HasSubstr("model.safetensors"), HasSubstr(q_proj), HasSubstr("[32x32]"), HasSubstr("[31x32]")));
}

TEST(LoadWeights, NamesAMissingTensor) {
  const LlamaConfig config = small_config();
  const TemporaryFolder folder;
  Weights weights = weights_of(config);
  weights.erase(q_proj);

  EXPECT_THAT(error_of<InputError>([&] { loaded(config, write(folder, weights)); }),
              AllOf(HasSubstr("model.safetensors"), HasSubstr(q_proj)));
}

TEST(LoadWeights, NamesATruncatedFile) {
  const LlamaConfig config = small_config();
  const TemporaryFolder folder;
  const auto path = write(folder, weights_of(config));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 4);

  EXPECT_THAT(error_of<InputError>([&] { loaded(config, path); }), HasSubstr("model.safetensors"));
}

TEST(LoadWeights, AcceptsEitherNameOfATiedWeight) {
  const LlamaConfig config = small_config({{"tie_word_embeddings", true}});
  const Weights embedding_only = weights_of(config);
  const at::Tensor values = embedding_only.at("model.embed_tokens.weight");
  Weights both = embedding_only;
  both["lm_head.weight"] = values;
  Weights head_only = both;
  head_only.erase("model.embed_tokens.weight");

  for (const Weights& weights : {embedding_only, both, head_only}) {
    const TemporaryFolder folder;
    const auto path = write(folder, weights);
    EXPECT_TRUE(at::equal(value_of(loaded(config, path), "model.embed_tokens.weight"), values));
    LlamaSlice last(config, {5, 6}, at::kFloat);
    load_weights(last, path);
    EXPECT_TRUE(at::equal(value_of(last, "lm_head.weight"), values));
  }
}

TEST(LoadWeights, RefusesATiedFileWhoseTwoCopiesDiffer) {
  const LlamaConfig config = small_config({{"tie_word_embeddings", true}});
  const TemporaryFolder folder;
  Weights weights = weights_of(config);
  weights["lm_head.weight"] = weights.at("model.embed_tokens.weight").add(1);

  EXPECT_THAT(error_of<InputError>([&] { loaded(config, write(folder, weights)); }),
              AllOf(HasSubstr("lm_head.weight"), HasSubstr("tie_word_embeddings")));
}

TEST(LoadWeights, RefusesATensorUnknownToTheConfig) {
  const LlamaConfig config = small_config();  // attention_bias false
  const TemporaryFolder folder;
  Weights weights = weights_of(config);
  weights["model.layers.0.self_attn.q_proj.bias"] = at::ones({32});

  EXPECT_THAT(error_of<InputError>([&] { loaded(config, write(folder, weights)); }),
              AllOf(HasSubstr("model.layers.0.self_attn.q_proj.bias"), HasSubstr("the config has no such tensor")));
}

TEST(LoadWeights, RefusesNumbersThatAreNotFinite) {
  const LlamaConfig config = small_config();
  for (const double number : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const TemporaryFolder folder;
    Weights weights = weights_of(config);
    weights.at(q_proj)[3][4] = number;

    EXPECT_THAT(error_of<InputError>([&] { loaded(config, write(folder, weights)); }),
                AllOf(HasSubstr(q_proj), HasSubstr("not finite")));
  }
}

/// The model in two files with an index.
void write_shards(const std::filesystem::path& folder, const Weights& weights) {
  Json map = Json::object();
  std::map<std::string, Weights> shards;
  for (const auto& [name, value] : weights) {
    const std::string file = name < "model.layers.1" ? "model-00001-of-00002" : "model-00002-of-00002";
    shards[file][name] = value;
    map[name] = file + ".safetensors";
  }
  for (const auto& [file, tensors] : shards) {
    const TemporaryFolder made;
    std::filesystem::rename(write(made, tensors), folder / (file + ".safetensors"));
  }
  write_json(folder / "model.safetensors.index.json", {{"metadata", Json::object()}, {"weight_map", map}});
}

TEST(LoadWeights, ReadsSeveralFilesWithAnIndex) {
  const LlamaConfig config = small_config();
  const TemporaryFolder folder;
  const Weights weights = weights_of(config);
  write_shards(folder.path(), weights);

  const LlamaSlice slice = loaded(config, folder.path());
  for (const auto& [name, value] : weights) EXPECT_TRUE(at::equal(value_of(slice, name), value)) << name;

  std::filesystem::remove(folder / "model-00002-of-00002.safetensors");
  EXPECT_THAT(error_of<InputError>([&] { loaded(config, folder.path()); }),
              AllOf(HasSubstr("model.safetensors.index.json"), HasSubstr("model-00002-of-00002.safetensors"),
                    HasSubstr("missing")));
}

TEST(LoadWeights, NamesFilesWithoutTheirIndex) {
  const LlamaConfig config = small_config();
  const TemporaryFolder folder;
  write_shards(folder.path(), weights_of(config));
  std::filesystem::remove(folder / "model.safetensors.index.json");
  const auto says = [&] { return error_of<InputError>([&] { loaded(config, folder.path()); }); };

  EXPECT_THAT(says(), HasSubstr("but 2 files such as model-00001-of-00002.safetensors: fetch the index too"));
  std::filesystem::remove(folder / "model-00001-of-00002.safetensors");
  EXPECT_THAT(says(), HasSubstr("but model-00002-of-00002.safetensors: name that file if it holds the whole model"));
}

TEST(LoadWeights, AMissingHeadPointsToTheKeyThatTiesIt) {
  const LlamaConfig config = small_config();
  const TemporaryFolder folder;
  Weights weights = weights_of(config);
  weights.erase("lm_head.weight");
  const auto file = write(folder, weights);
  const auto names_key = HasSubstr(
      "holds no tensor lm_head.weight, which the config asks for; if the head shares the "
      "embedding's weight, set tie_word_embeddings = true");

  EXPECT_THAT(error_of<InputError>([&] { loaded(config, file); }), names_key);
  EXPECT_THAT(error_of<InputError>([&] { check_weights(config, file); }), names_key);
}

TEST(LoadWeights, ReadsAFolderOfTheHubsCache) {
  const LlamaConfig config = small_config();
  const TemporaryFolder folder;
  const Weights weights = weights_of(config);
  const auto snapshot = folder / "snapshots" / "abc123";
  std::filesystem::create_directories(snapshot);
  std::filesystem::create_directories(folder / "refs");
  std::filesystem::rename(write(folder, weights), snapshot / "model.safetensors");
  write_file(folder / "refs" / "main", "abc123");

  EXPECT_TRUE(at::equal(value_of(loaded(config, folder.path()), q_proj), weights.at(q_proj)));
}

/// 1152 = 0x480, whose bytes are the first ones of a pickle; models with a header of that length must load.
TEST(LoadWeights, AcceptsAHeaderLengthThatLooksLikeAPickle) {
  const LlamaConfig config = small_config();
  const TemporaryFolder folder;
  const Weights weights = weights_of(config);
  const std::string bytes = read_file(write(folder, weights));
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  for (const std::uint64_t like : {0x0280U, 0x0480U}) {
    std::uint64_t padded = (length & ~std::uint64_t{0xffff}) + like;
    if (padded < length) padded += 0x10000;
    std::string other(reinterpret_cast<const char*>(&padded), sizeof padded);
    other += bytes.substr(sizeof length, length) + std::string(padded - length, ' ');
    write_file(folder / "model.safetensors", other + bytes.substr(sizeof length + length));

    EXPECT_TRUE(at::equal(value_of(loaded(config, folder.path()), q_proj), weights.at(q_proj))) << like;
  }
}

TEST(LoadWeights, NamesOtherFileFormats) {
  const LlamaConfig config = small_config();
  const TemporaryFolder folder;
  write_file(folder / "model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n");
  EXPECT_THAT(error_of<InputError>([&] { loaded(config, folder.path()); }), HasSubstr("pointer of git LFS"));

  std::filesystem::remove(folder / "model.safetensors");
  write_file(folder / "pytorch_model.bin", "PK\x03\x04 and so on");
  EXPECT_THAT(error_of<InputError>([&] { loaded(config, folder.path()); }), HasSubstr("is a pickle"));
  EXPECT_THAT(error_of<InputError>([&] { loaded(config, folder / "pytorch_model.bin"); }), HasSubstr("is a pickle"));

  std::filesystem::remove(folder / "pytorch_model.bin");
  EXPECT_THAT(error_of<InputError>([&] { loaded(config, folder.path()); }),
              HasSubstr("holds neither model.safetensors.index.json nor model.safetensors"));
}

}  // namespace
}  // namespace plumbline
