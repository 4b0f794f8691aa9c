// SPDX-License-Identifier: BSD-3-Clause
#include "support/tensor_files.hpp"

#include <fmt/format.h>

#include <array>
#include <fstream>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/json.hpp"
#include "support/numbers.hpp"
#include "support/paths.hpp"
#include "support/text.hpp"

namespace plumbline {
namespace {

namespace fs = std::filesystem;

const char* const index_name = "model.safetensors.index.json";
const char* const file_name = "model.safetensors";

/// Common files that are no safetensors, recognized by their first bytes.
void refuse_other_formats(const fs::path& file) {
  std::array<char, 24> begin{};
  std::ifstream(file, std::ios::binary).read(begin.data(), begin.size());
  const std::string_view text(begin.data(), begin.size());
  if (text.starts_with("version https://git-lfs")) {
    throw InputError(file.string() + ": is a pointer of git LFS, not the file itself; fetch it with git lfs pull");
  }
  // A safetensors header's length may begin with the same bytes, but is followed by JSON.
  const bool json_follows = text[8] == '{';
  if (!json_follows &&
      (text.starts_with("PK\x03\x04") || text.starts_with("\x80\x02") || text.starts_with("\x80\x04"))) {
    throw InputError(
        fmt::format("{}: is a pickle, which may run code when it is read; save the model with "
                    "save_pretrained(..., safe_serialization=True) and name that",
                    file.string()));
  }
}

/// A folder of the hub's cache: models--ORG--NAME with refs/main and snapshots/<commit>.
fs::path snapshot_of(const fs::path& folder) {
  const fs::path main = folder / "refs" / "main";
  if (!path_exists(main)) return folder;
  std::string commit = read_file(main);
  while (!commit.empty() && (commit.back() == '\n' || commit.back() == ' ')) commit.pop_back();
  return folder / "snapshots" / commit;
}

}  // namespace

std::string numbered_file(const std::string& prefix, std::int64_t number, std::int64_t count) {
  return fmt::format("{}-{:05}-of-{:05}.safetensors", prefix, number, count);
}

TensorFiles TensorFiles::of_model(const fs::path& path) {
  TensorFiles files(path);
  if (!folder_exists(path)) {
    files.add_file(path);
    return files;
  }
  const fs::path folder = snapshot_of(path);
  if (path_exists(folder / index_name)) {
    files.add_index(folder / index_name);
  } else if (path_exists(folder / file_name)) {
    files.add_file(folder / file_name);
  } else {
    const fs::path pickle = folder / "pytorch_model.bin";
    if (path_exists(pickle)) refuse_other_formats(pickle);
    const auto others = files_matching(folder / "*.safetensors");
    throw InputError(fmt::format("{}: holds neither {} nor {}{}", folder.string(), index_name, file_name,
                                 others.empty() ? ""
                                 : others.size() > 1
                                     ? fmt::format(", but {} files such as {}: fetch the index too, which "
                                                   "says where each tensor is",
                                                   others.size(), others.front().filename().string())
                                     : ", but " + others.front().filename().string() +
                                           ": name that file if it holds the whole model, else fetch "
                                           "the index and the files it names"));
  }
  return files;
}

TensorFiles TensorFiles::numbered(const fs::path& folder, const std::string& prefix) {
  TensorFiles files(folder);
  std::int64_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::size_t of = name.rfind("-of-");
    if (!name.starts_with(prefix + "-") || !name.ends_with(".safetensors") || of == std::string::npos) continue;
    count = parse_integer(name.substr(of + 4, name.size() - of - 4 - std::string(".safetensors").size())).value_or(0);
    break;
  }
  if (count < 1)
    throw InputError(fmt::format("{}: holds no {} or the like", folder.string(), numbered_file(prefix, 1, 1)));
  for (std::int64_t number = 1; number <= count; ++number) {
    const fs::path file = folder / numbered_file(prefix, number, count);
    if (!path_exists(file))
      throw InputError(fmt::format("{}: is missing; by the names of the others there are {}", file.string(), count));
    files.add_file(file);
  }
  return files;
}

void TensorFiles::add_file(const fs::path& file) {
  for (const auto& [name, entry] : opened(file).entries()) {
    if (!files_.emplace(name, file).second)
      throw InputError(fmt::format("{}: tensor {} is in {} too", file.string(), name, files_.at(name).string()));
  }
}

void TensorFiles::add_index(const fs::path& index) {
  const Json json = read_json(index);
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object()) {
    throw InputError(index.string() + ": has no weight_map, which names the file of each tensor");
  }
  for (const auto& [name, file] : json["weight_map"].items()) {
    if (!file.is_string() || fs::path(file.get<std::string>()).filename() != file.get<std::string>())
      throw InputError(fmt::format("{}: tensor {}: names a file that is not in this folder", index.string(), name));
    const fs::path path = index.parent_path() / file.get<std::string>();
    if (!path_exists(path))
      throw InputError(fmt::format("{}: tensor {} should be in {}, which is missing", index.string(), name,
                                   path.filename().string()));
    files_.emplace(name, path);
  }
}

const SafetensorsFile& TensorFiles::opened(const fs::path& file) const {
  std::unique_ptr<SafetensorsFile>& known = opened_[file];
  if (known == nullptr) {
    refuse_other_formats(file);
    known = std::make_unique<SafetensorsFile>(file);
  }
  return *known;
}

std::vector<std::string> TensorFiles::names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : files_) names.push_back(name);
  return names;
}

const SafetensorsEntry& TensorFiles::at(const std::string& name) const {
  const auto found = files_.find(name);
  if (found != files_.end()) return opened(found->second).at(name);
  const auto nearest = nearest_word(name, names());
  throw InputError(fmt::format("{}: holds no tensor {}{}", path_.string(), name,
                               nearest ? "; the nearest name is " + *nearest : ""));
}

std::string TensorFiles::where(const std::string& name) const {
  const auto found = files_.find(name);
  return fmt::format("{}: {}", (found == files_.end() ? path_ : found->second).string(), name);
}

}  // namespace plumbline
