// SPDX-License-Identifier: BSD-3-Clause
// The one place that includes toml++, and the one function that parses with it. Its parser leaves some broken files to
// an assertion, which would end the program without a word on the file: here an assertion is an exception.
#pragma once

#include <filesystem>
#include <string_view>

namespace plumbline {
[[noreturn]] void fail_toml_assertion(const char* expression);
}

// The library's own names for its settings; what they are must be the same in every file that includes it.
#define TOML_ASSERT(expression) static_cast<void>((expression) || (::plumbline::fail_toml_assertion(#expression), true))
#define TOML_MAX_NESTED_VALUES 32
#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>

namespace plumbline {

/// Throws InputError with file, line and column for whatever is no TOML. `path` is for the message.
toml::table parse_toml(const std::filesystem::path& path, std::string_view bytes);

}  // namespace plumbline
