// The data's tokens, read from files.
#pragma once

#include <cstdint>
#include <vector>

#include "training/run_file.hpp"

namespace plumbline {

/// Tokens of a text (byte-level: one id a byte) or of a .bin file of little-endian uint16. Throws InputError: not UTF-8
/// (with the offset), empty, an id beyond the vocabulary (with its place).
std::vector<std::int32_t> load_tokens(const DataSettings& data, std::int64_t vocab_size);

}  // namespace plumbline
