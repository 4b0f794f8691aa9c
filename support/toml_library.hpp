// SPDX-License-Identifier: BSD-3-Clause
// The only header that includes toml++, and the only function that parses with it. Its parser fails assertions on some
// invalid files, which would end the program without naming the file: here an assertion throws.
#pragma once

#include <filesystem>
#include <string_view>

namespace plumbline {
[[noreturn]] void fail_toml_assertion(const char* expression);
}

// The library's macros; every file that includes it must use the same values.
#define TOML_ASSERT(expression) static_cast<void>((expression) || (::plumbline::fail_toml_assertion(#expression), true))
#define TOML_MAX_NESTED_VALUES 32
#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>

namespace plumbline {

/// Throws InputError with file, line and column for invalid TOML. `path` is for the message.
toml::table parse_toml(const std::filesystem::path& path, std::string_view bytes);

}  // namespace plumbline
