// SPDX-License-Identifier: BSD-3-Clause
#include "training/load_tokens.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "support/error.hpp"
#include "support/text.hpp"
#include "training/token_source.hpp"

namespace plumbline {

namespace {

void refuse_bytes_beyond(const std::filesystem::path& path, std::string_view text, std::int64_t vocab_size) {
  const auto beyond =
      std::ranges::find_if(text, [&](char byte) { return static_cast<unsigned char>(byte) >= vocab_size; });
  if (beyond != text.end()) {
    refuse_beyond_vocabulary(path, "byte", beyond - text.begin(), static_cast<unsigned char>(*beyond), vocab_size);
  }
}

Tokens load_text(const DataSettings& data, std::int64_t vocab_size) {
  Tokens tokens(vocab_size);
  for (const std::filesystem::path& path : token_files(data)) {
    auto file = std::make_shared<const MappedFile>(path);
    const auto bytes = file->bytes();
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (const auto offset = first_invalid_utf8(text)) {
      throw InputError(path.string() + ": not UTF-8: invalid byte at offset " + std::to_string(*offset) +
                       "; convert the text to UTF-8");
    }
    refuse_bytes_beyond(path, text, vocab_size);
    if (!text.empty()) tokens.add(path, std::move(file), {0, 1, false, static_cast<std::int64_t>(text.size())});
  }
  if (tokens.size() == 0) throw InputError(data.text->string() + ": the text is empty");
  return tokens;
}

/// Whether ids of `width` bytes, below 65,536 and not all 0, look like this: all bytes of each after its first two are
/// 0. Only the first ids are looked at: the file is mapped, and may be large.
bool looks_like_ids_of(std::int64_t width, std::span<const std::byte> bytes) {
  constexpr std::size_t least_bytes = 64, most_bytes = 1 << 16;
  const auto each = static_cast<std::size_t>(width);
  if (bytes.size() < least_bytes || bytes.size() % each != 0) return false;
  bool all_zero = true;
  for (std::size_t i = 0; i < std::min(bytes.size(), most_bytes); ++i) {
    if (bytes[i] == std::byte{0}) continue;
    if (i % each >= 2) return false;
    all_zero = false;
  }
  return !all_zero;
}

/// Wider ids that are read as two-byte ids look valid: refuses a raw file if the run file does not say its width and
/// its content or the model speaks for another.
void refuse_unsaid_width(const std::filesystem::path& path, std::span<const std::byte> bytes, const TokenFormat& format,
                         const DataSettings& data, std::int64_t vocab_size) {
  constexpr std::int64_t ids_of_uint16 = 65536;
  if (data.token_type || format.offset > 0 || index_beside(path)) return;
  const std::string no_header = path.string() + ": has no header with the width of its ids, and ";
  if (looks_like_ids_of(8, bytes)) {
    throw InputError(no_header +
                     "of uint16 only every fourth is not 0, as if it holds int64; write it with numpy.save(path, ids), "
                     "which states the type (or data.token_type = \"uint16\", if it holds that)");
  }
  if (looks_like_ids_of(4, bytes)) {
    throw InputError(no_header +
                     "of uint16 every second is 0, as if it holds uint32; write data.token_type = \"uint32\" (or "
                     "\"uint16\", if it holds that)");
  }
  if (vocab_size <= ids_of_uint16) return;
  throw InputError(no_header + "the model's vocabulary of " + std::to_string(vocab_size) +
                   " takes more than uint16; write data.token_type = \"uint32\" (or "
                   "\"uint16\", if it holds that)");
}

}  // namespace

Tokens load_tokens(const DataSettings& data, std::int64_t vocab_size) {
  if (data.text) return load_text(data, vocab_size);
  Tokens tokens(vocab_size);
  std::optional<TokenFormat> first;
  const std::vector<std::filesystem::path> files = token_files(data);
  for (const std::filesystem::path& path : files) {
    auto file = std::make_shared<const MappedFile>(path);
    const TokenFormat format = token_format(path, file->bytes(), data.token_type);
    refuse_unsaid_width(path, file->bytes(), format, data, vocab_size);
    if (!first) first = format;
    if (format.type() != first->type()) {
      throw InputError(path.string() + ": holds " + format.type() + ", and " + files.front().string() + " " +
                       first->type() + "; all files of a source must have ids of the same width");
    }
    tokens.add(path, std::move(file), format);
  }
  return tokens;
}

}  // namespace plumbline
