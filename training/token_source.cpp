#include "training/token_source.hpp"

#include <algorithm>
#include <stdexcept>

#include "support/error.hpp"
#include "support/machine_memory.hpp"
#include "support/paths.hpp"

namespace plumbline {

namespace {

constexpr std::int64_t bytes_of_uint16 = 2;

const std::filesystem::path& path_of(const DataSettings& data) {
  if (data.text) return *data.text;
  if (data.tokens) return *data.tokens;
  throw std::logic_error("data settings without a text and without tokens");
}

}  // namespace

std::vector<std::filesystem::path> token_files(const DataSettings& data) {
  const std::filesystem::path& path = path_of(data);
  if (!data.text || !folder_exists(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.is_regular_file() && entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  if (files.empty()) {
    throw InputError(path.string() + ": the folder holds no .txt file; put a text there or name another in data.text");
  }
  std::ranges::sort(files);
  return files;
}

std::optional<std::int64_t> tokens_by_size(const DataSettings& data) {
  if (!path_exists(path_of(data))) return std::nullopt;
  std::int64_t bytes = 0;
  for (const std::filesystem::path& file : token_files(data)) {
    std::error_code no_file;
    const auto size = std::filesystem::file_size(file, no_file);
    if (no_file) return std::nullopt;
    bytes = sum_of_sizes({bytes, static_cast<std::int64_t>(size)});
  }
  return data.text ? bytes : bytes / bytes_of_uint16;
}

void refuse_short_source(const DataSettings& data, std::int64_t available, std::int64_t needed) {
  if (available >= needed) return;
  const auto& source = data.text ? data.text : data.tokens;
  throw InputError((source ? source->string() : std::string("the text")) + " is too short: it holds " +
                   std::to_string(available) + " tokens, one step needs " + std::to_string(needed) +
                   ". Give a longer text, or smaller data.lengths, data.microbatches or data.batch");
}

}  // namespace plumbline
