// SPDX-License-Identifier: BSD-3-Clause
// Opens the data's files as one source of tokens.
#pragma once

#include <cstdint>

#include "training/run_file.hpp"
#include "training/tokens.hpp"

namespace plumbline {

/// Files of ids are mapped, not read. A text (byte-level: one id per byte) is read once to check its encoding, and is
/// mapped too. Throws InputError for invalid UTF-8 (with the offset), an empty file, a format that token_format
/// refuses, and files whose ids differ in width.
Tokens load_tokens(const DataSettings& data, std::int64_t vocab_size);

}  // namespace plumbline
