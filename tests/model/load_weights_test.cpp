// SPDX-License-Identifier: BSD-3-Clause
#include "model/load_weights.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <sstream>

#include "model/llama_slice.hpp"
#include "model/parameter.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/safetensors.hpp"
#include "tests/approved.hpp"
#include "tests/model/models.hpp"

namespace plumbline {
namespace {

using testing::make_slice;
using testing::small_config;
using testing::TemporaryFolder;
using testing::value_of;
using testing::whole;

using Weights = std::map<std::string, at::Tensor>;

const char* const q_proj = "model.layers.1.self_attn.q_proj.weight";

const std::map<std::string, at::ScalarType> dtypes{{"float32", at::kFloat},
                                                   {"float64", at::kDouble},
                                                   {"bfloat16", at::kBFloat16},
                                                   {"float16", at::kHalf},
                                                   {"int64", at::kLong}};

/// The values of a whole model, to be changed and written.
Weights weights_of(const LlamaConfig& config) {
  Weights weights;
  const LlamaSlice slice = make_slice(config, whole(config));
  for (const Parameter& parameter : slice.parameters())
    if (!parameter.alias) weights[parameter.name] = parameter.value.detach().clone();
  return weights;
}

std::filesystem::path write(const std::filesystem::path& file, const Weights& weights) {
  std::vector<NamedBytes> entries;
  for (const auto& [name, value] : weights) {
    const auto* bytes = static_cast<const std::byte*>(value.const_data_ptr());
    for (const auto& [dtype, type] : dtypes)
      if (type == value.scalar_type()) entries.push_back({name, {dtype, value.sizes().vec(), {bytes, value.nbytes()}}});
  }
  write_safetensors(file, entries);
  return file;
}

LlamaSlice loaded(const LlamaConfig& config, const std::filesystem::path& path, at::ScalarType dtype = at::kFloat) {
  LlamaSlice slice(config, whole(config), dtype);
  load_weights(slice, path);
  return slice;
}

/// A case's files, and what is loaded from them.
class WeightsCase {
 public:
  std::string run(const std::string& line) {
    std::istringstream words(line);
    std::string command, name, other;
    words >> command >> name;
    name = named(name);
    if (command == "config") {
      config_ = small_config(Json::parse(line.substr(command.size())));
      weights_ = weights_of(config_);
    } else if (command == "erase") {
      weights_.erase(name);
    } else if (command == "rows") {
      std::int64_t rows = 0;
      words >> rows;
      weights_[name] = weights_.at(name).slice(0, 0, rows).contiguous();
    } else if (command == "dtype") {
      words >> other;
      weights_[name] = weights_.at(name).to(dtypes.at(other));
    } else if (command == "element") {
      words >> other;
      weights_.at(name)[3][4] = std::stod(other);
    } else if (command == "ones") {
      weights_[name] = at::ones({32});
    } else if (command == "copy") {
      double added = 0;
      words >> other >> added;
      weights_[named(other)] = weights_.at(name).add(added);
    } else if (command == "write") {
      std::getline(words >> std::ws, other);
      folder_.file(name, other);
    } else if (command == "pickle") {
      folder_.file(name, "PK\x03\x04 and so on");
    } else if (command == "remove") {
      std::filesystem::remove(folder_ / name);
    } else if (command == "cut") {
      write_whole("model.safetensors");
      std::filesystem::resize_file(folder_ / name, std::filesystem::file_size(folder_ / name) - 4);
    } else if (command == "whole") {
      write_whole(name);
    } else if (command == "shards") {
      write_shards();
    } else {
      return load(command, line);
    }
    return "";
  }

 private:
  static std::string named(const std::string& name) {
    const std::map<std::string, std::string> names = {{"q_proj", q_proj},
                                                      {"embedding", "model.embed_tokens.weight"},
                                                      {"norm", "model.norm.weight"},
                                                      {"head", "lm_head.weight"}};
    return names.contains(name) ? names.at(name) : name;
  }
  void write_whole(const std::string& name) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    write(folder_ / name, weights_);
    written_ = true;
  }
  /// Two files with an index.
  void write_shards() {
    Json map = Json::object();
    std::map<std::string, Weights> shards;
    for (const auto& [name, value] : weights_) {
      const std::string file =
          name < "model.layers.1" ? "model-00001-of-00002.safetensors" : "model-00002-of-00002.safetensors";
      shards[file][name] = value;
      map[name] = file;
    }
    for (const auto& [file, tensors] : shards) write(folder_ / file, tensors);
    write_json(folder_ / "model.safetensors.index.json", {{"metadata", Json::object()}, {"weight_map", map}});
    written_ = true;
  }
  /// "load [DTYPE|mixed|check] [units=FIRST-END] [FILE]"
  std::string load(const std::string& command, const std::string& line) {
    EXPECT_EQ(command, "load");
    if (!written_) write_whole("model.safetensors");
    std::string kind = "float32", place;
    UnitRange units = whole(config_);
    std::istringstream words(line.substr(4));
    for (std::string word; words >> word;) {
      if (word.starts_with("units=")) {
        units = {word[6] - '0', word[8] - '0'};
      } else if (dtypes.contains(word) || word == "mixed" || word == "check") {
        kind = word;
      } else {
        place = word;
      }
    }
    try {
      if (kind == "check") {
        check_weights(config_, folder_ / place);
        return "accepted";
      }
      LlamaSlice slice(config_, units, kind == "mixed" ? at::kBFloat16 : dtypes.at(kind));
      if (kind == "mixed") slice.keep_masters();
      load_weights(slice, folder_ / place);
      for (const Parameter& parameter : slice.parameters()) {
        const bool shared = config_.tied && !weights_.contains(parameter.name);
        const at::Tensor& given =
            weights_.at(!shared ? parameter.name : named(parameter.name == named("head") ? "embedding" : "head"));
        EXPECT_TRUE(at::equal(parameter.value.detach(), given.to(parameter.value.scalar_type()))) << parameter.name;
        if (kind == "mixed") {
          EXPECT_TRUE(at::equal(parameter.master, given)) << parameter.name;
        }
      }
      return std::to_string(slice.parameters().size()) + " tensors";
    } catch (const InputError& error) {
      return "refused: " + testing::in_folder(folder_, error.what());
    }
  }

  const TemporaryFolder folder_;
  LlamaConfig config_ = small_config();
  Weights weights_ = weights_of(config_);
  bool written_ = false;
};

TEST(LoadWeights, LoadsEveryBitOrRefusesTheFiles) {
  testing::expect_answers("weights.txt", [](const std::string& input) {
    WeightsCase files;
    std::string said;
    std::istringstream lines(input);
    for (std::string line; std::getline(lines, line);)
      if (const std::string answer = files.run(line); !answer.empty()) said += (said.empty() ? "" : "\n") + answer;
    return said;
  });
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

  const at::Tensor read =
      value_of(loaded(config, write(folder / "model.safetensors", weights), at::kBFloat16), q_proj).detach();

  for (std::size_t i = 0; i < given.size(); ++i) {
    EXPECT_EQ(read.view(-1)[static_cast<std::int64_t>(i)].item<float>(), expected[i]) << i;
  }
}

/// 1152 = 0x480, whose bytes are the first ones of a pickle; models with a header of that length must load.
TEST(LoadWeights, AcceptsAHeaderLengthThatLooksLikeAPickle) {
  const LlamaConfig config = small_config();
  const TemporaryFolder folder;
  const Weights weights = weights_of(config);
  const std::string bytes = read_file(write(folder / "model.safetensors", weights));
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

}  // namespace
}  // namespace plumbline
