// How much memory can still be taken, on this machine and in this process' control groups.
#pragma once

#include <cstdint>
#include <filesystem>

namespace plumbline {

/// The least of what Linux calls available (/proc/meminfo), what each control group of the process leaves beside what
/// it has taken (its file cache apart, which goes when memory is wanted), and memory_limit(). `root`: in front of the
/// system's files, for tests.
std::int64_t free_memory(const std::filesystem::path& root = "/");

}  // namespace plumbline
