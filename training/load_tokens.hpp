// SPDX-License-Identifier: BSD-3-Clause
// The data's files, opened as one source of tokens.
#pragma once

#include <cstdint>

#include "training/run_file.hpp"
#include "training/tokens.hpp"

namespace plumbline {

/// Files of ids are mapped and not read. A text (byte-level: one id a byte) is read through once, for its encoding; it
/// stays on the disk too. Throws InputError: not UTF-8 (with the offset), empty, a format that token_format refuses,
/// files whose ids differ in width.
Tokens load_tokens(const DataSettings& data, std::int64_t vocab_size);

}  // namespace plumbline
