#include "training/load_tokens.hpp"

#include <filesystem>
#include <vector>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/machine_memory.hpp"
#include "support/text.hpp"
#include "training/token_source.hpp"

namespace plumbline {

namespace {

void refuse_beyond_vocabulary(const std::filesystem::path& path, std::size_t place, const std::string& unit,
                              std::int32_t id, std::int64_t vocab_size) {
  if (id >= vocab_size) {
    throw InputError(path.string() + ": token " + std::to_string(id) + " at " + unit + " " + std::to_string(place) +
                     " is beyond the model's vocabulary of " + std::to_string(vocab_size) +
                     "; use a model with a larger vocab_size or data made for this one");
  }
}

std::vector<std::int32_t> load_text(const DataSettings& data, std::int64_t vocab_size) {
  std::vector<std::int32_t> tokens;
  for (const std::filesystem::path& file : token_files(data)) {
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
    throw InputError(data.text->string() + ": the text is empty");
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
  constexpr std::int64_t bytes_of_id = sizeof(std::int32_t);
  if (const auto tokens = tokens_by_size(data)) {
    require_memory(product_of_sizes({*tokens, bytes_of_id}), "a text of " + std::to_string(*tokens) + " tokens");
  }
  return data.text ? load_text(data, vocab_size) : load_uint16(*data.tokens, vocab_size);
}

}  // namespace plumbline
