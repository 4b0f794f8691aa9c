// SPDX-License-Identifier: BSD-3-Clause
// A verdict in a file of its own, to be believed later without its record: with a digest, so that a file that was
// damaged or edited is known.
#pragma once

#include <filesystem>

#include "record/verdict.hpp"

namespace plumbline {

void write_kept_verdict(const std::filesystem::path& path, const Verdict& verdict);
/// Throws InputError: no verdict, or another one than was written.
Verdict read_kept_verdict(const std::filesystem::path& path);

}  // namespace plumbline
