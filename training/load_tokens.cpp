#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "training/batch_plan.hpp"

namespace plumbline {

namespace {

/// The file itself, or a folder's .txt files in name order.
std::vector<std::filesystem::path> text_files(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    return {path};
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.is_regular_file() && entry.path().extension() == ".txt") {
      files.push_back(entry.path());
    }
  }
  if (files.empty()) {
    throw InputError(path.string() + ": the folder holds no .txt file; put a text there or name another in data.text");
  }
  std::ranges::sort(files);
  return files;
}

void refuse_beyond_vocabulary(const std::filesystem::path& path, std::size_t place, const std::string& unit,
                              std::int32_t id, std::int64_t vocab_size) {
  if (id >= vocab_size) {
    throw InputError(path.string() + ": token " + std::to_string(id) + " at " + unit + " " + std::to_string(place) +
                     " is beyond the model's vocabulary of " + std::to_string(vocab_size) +
                     "; use a model with a larger vocab_size or data made for this one");
  }
}

std::vector<std::int32_t> load_text(const std::filesystem::path& path, std::int64_t vocab_size) {
  std::vector<std::int32_t> tokens;
  for (const std::filesystem::path& file : text_files(path)) {
    const std::string bytes = read_file(file);
    if (const auto offset = first_invalid_utf8(bytes)) {
      throw InputError(file.string() + ": not UTF-8: invalid byte at offset " + std::to_string(*offset) +
                       "; convert the text to UTF-8");
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const std::int32_t id = static_cast<unsigned char>(bytes[i]);
      refuse_beyond_vocabulary(file, i, "byte", id, vocab_size);
      tokens.push_back(id);
    }
  }
  if (tokens.empty()) {
    throw InputError(path.string() + ": the text is empty");
  }
  return tokens;
}

std::vector<std::int32_t> load_uint16(const std::filesystem::path& path, std::int64_t vocab_size) {
  const std::string bytes = read_file(path);
  if (bytes.size() % 2 != 0) {
    throw InputError(path.string() + ": " + std::to_string(bytes.size()) +
                     " bytes are no whole number of uint16 tokens: the file is truncated or of another token_type");
  }
  if (bytes.empty()) {
    throw InputError(path.string() + ": the file holds no tokens");
  }
  std::vector<std::int32_t> tokens;
  tokens.reserve(bytes.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    const int low = static_cast<unsigned char>(bytes[i]);
    const int high = static_cast<unsigned char>(bytes[i + 1]);
    refuse_beyond_vocabulary(path, i / 2, "token", low | high << 8, vocab_size);
    tokens.push_back(low | high << 8);
  }
  return tokens;
}

}  // namespace

std::vector<std::int32_t> load_tokens(const DataSettings& data, std::int64_t vocab_size) {
  if (data.text) {
    return load_text(*data.text, vocab_size);
  }
  if (data.tokens) {
    return load_uint16(*data.tokens, vocab_size);
  }
  throw std::logic_error("data settings without a text and without tokens");
}

}  // namespace plumbline
