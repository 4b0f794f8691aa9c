// SPDX-License-Identifier: BSD-3-Clause
#include "training/tokens.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "support/error.hpp"
#include "support/machine_memory.hpp"
#include "support/mapped_file.hpp"
#include "support/paths.hpp"
#include "support/text.hpp"
#include "training/token_format.hpp"

namespace plumbline {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> text_files(const fs::path& path) {
  if (!folder_exists(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) {
    if (entry.is_regular_file() && entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  if (files.empty()) {
    throw InputError(path.string() + ": the folder holds no .txt file; put a text there or name another in data.text");
  }
  std::ranges::sort(files);
  return files;
}

/// The files of one entry of `key`.
std::vector<fs::path> files_of(const fs::path& named, const std::string& key) {
  std::vector<fs::path> files;
  for (fs::path file : files_matching(named)) {
    if (file.extension() == ".idx") {
      const fs::path index = file;
      file.replace_extension(".bin");
      if (!path_exists(file)) {
        throw InputError(index.string() + ": is an index without its " + file.filename().string() +
                         "; the tokens themselves are missing");
      }
    }
    files.push_back(file);
  }
  std::ranges::sort(files, {}, [](const fs::path& each) { return each.string(); });
  files.erase(std::unique(files.begin(), files.end()), files.end());  // a .bin and its .idx are one file of tokens
  if (files.empty()) {
    const bool pattern = named.string().find_first_of("*?[") != std::string::npos;
    throw InputError(named.string() + (pattern ? ": matches no file" : ": does not exist") +
                     "; name existing files in " + key);
  }
  return files;
}

std::vector<fs::path> distinct_files(const std::vector<fs::path>& names, const std::string& key) {
  std::vector<fs::path> files;
  std::set<fs::path> known;
  for (const fs::path& named : names) {
    for (fs::path& file : files_of(named, key)) {
      if (!known.insert(file).second) {
        throw InputError(file.string() + ": " + key + " names it twice, the second time as " + named.string());
      }
      files.push_back(std::move(file));
    }
  }
  return files;
}

}  // namespace

std::vector<fs::path> token_files(const DataSettings& data) {
  if (data.text) return text_files(*data.text);
  if (data.tokens.empty()) throw std::logic_error("data settings without a text and without tokens");
  return distinct_files(data.tokens, "data.tokens");
}

std::vector<fs::path> ignore_files(const DataSettings& data) {
  return distinct_files(data.ignore, "data.ignore");
}

std::string source_text(const DataSettings& data) {
  if (data.text) return data.text->generic_string();
  std::vector<std::string> names;
  for (const fs::path& named : data.tokens) names.push_back(named.generic_string());
  return join(names, ", ");
}

std::optional<std::int64_t> tokens_by_size(const DataSettings& data) {
  const auto absent = [](const fs::path& named) { return files_matching(named).empty(); };
  if (data.text ? absent(*data.text) : std::ranges::any_of(data.tokens, absent)) return std::nullopt;
  std::int64_t tokens = 0;
  for (const fs::path& file : token_files(data)) {
    std::error_code no_file;
    const auto size = fs::file_size(file, no_file);
    if (no_file) return std::nullopt;
    const auto count = data.text ? static_cast<std::int64_t>(size)
                                 : token_format(file, MappedFile(file).bytes(), data.token_type).count;
    tokens = sum_of_sizes({tokens, count});
  }
  return tokens;
}

void refuse_short_source(const DataSettings& data, std::int64_t available, std::int64_t needed) {
  if (available >= needed) return;
  throw InputError(source_text(data) + " is too short: it holds " + std::to_string(available) +
                   " tokens, one step needs " + std::to_string(needed) +
                   ". Give a longer text, or smaller data.lengths, data.microbatches or data.batch");
}

namespace {

static_assert(std::endian::native == std::endian::little, "ids are little-endian and read unconverted");

template <typename Id>
void widen(const std::byte* from, std::span<std::int64_t> into) {
  for (std::int64_t& id : into) {
    Id read{};  // ids are unaligned in the files
    std::memcpy(&read, from, sizeof read);
    from += sizeof read;
    id = static_cast<std::int64_t>(read);
  }
}

void widen(const TokenFormat& format, const std::byte* from, std::span<std::int64_t> into) {
  switch (format.width) {
    case 1:
      return format.is_signed ? widen<std::int8_t>(from, into) : widen<std::uint8_t>(from, into);
    case 2:
      return format.is_signed ? widen<std::int16_t>(from, into) : widen<std::uint16_t>(from, into);
    case 4:
      return format.is_signed ? widen<std::int32_t>(from, into) : widen<std::uint32_t>(from, into);
    case 8:
      return widen<std::int64_t>(from, into);
    default:
      throw std::logic_error("tokens of " + std::to_string(format.width) + " bytes");
  }
}

}  // namespace

void refuse_beyond_vocabulary(const std::filesystem::path& path, const std::string& unit, std::int64_t place,
                              std::int64_t id, std::int64_t vocab_size) {
  throw InputError(path.string() + ": token " + std::to_string(id) + " at " + unit + " " + std::to_string(place) +
                   " is beyond the model's vocabulary of " + std::to_string(vocab_size) +
                   "; use a model with a larger vocab_size or data made for this one");
}

Tokens::Tokens(std::vector<std::int32_t> ids) {
  const auto kept = std::make_shared<const std::vector<std::int32_t>>(std::move(ids));
  const auto count = static_cast<std::int64_t>(kept->size());
  parts_.push_back({"ids in memory", kept, reinterpret_cast<const std::byte*>(kept->data()), {0, 4, true, count}, 0});
  size_ = count;
}

void Tokens::add(const std::filesystem::path& path, std::shared_ptr<const MappedFile> file, const TokenFormat& format) {
  const std::byte* bytes = file->bytes().data() + format.offset;
  parts_.push_back({path, std::move(file), bytes, format, size_});
  size_ += format.count;
}

void Tokens::read(std::int64_t position, std::span<std::int64_t> into) const {
  position %= size_;
  auto part = std::prev(std::ranges::upper_bound(parts_, position, {}, &Part::first));
  while (!into.empty()) {
    const std::int64_t place = position - part->first;
    const std::size_t count = std::min(into.size(), static_cast<std::size_t>(part->format.count - place));
    read_part(*part, place, into.first(count));
    into = into.subspan(count);
    if (++part == parts_.end()) part = parts_.begin();
    position = part->first;
  }
}

void Tokens::read_part(const Part& part, std::int64_t place, std::span<std::int64_t> into) const {
  widen(part.format, part.bytes + place * part.format.width, into);
  const auto beyond = std::ranges::find_if(into, [&](std::int64_t id) { return id < 0 || id >= vocab_size_; });
  if (beyond == into.end()) return;
  refuse_beyond_vocabulary(part.path, "token", place + (beyond - into.begin()), *beyond, vocab_size_);
}

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

std::optional<Tokens> load_ignored(const DataSettings& data, std::int64_t tokens) {
  const std::vector<std::filesystem::path> files = ignore_files(data);
  if (files.empty()) return std::nullopt;
  Tokens ignored(256);
  for (const std::filesystem::path& path : files) {
    auto file = std::make_shared<const MappedFile>(path);
    const std::int64_t bytes = std::ssize(file->bytes());
    if (bytes > 0) ignored.add(path, std::move(file), {0, 1, false, bytes});
  }
  if (ignored.size() == tokens) return ignored;
  throw InputError(files.front().string() + ": data.ignore has " + std::to_string(ignored.size()) + " bytes, and " +
                   source_text(data) + " " + std::to_string(tokens) +
                   " tokens; it has one byte for each token, without a header: mask.astype(\"uint8\").tofile(path)");
}

}  // namespace plumbline
