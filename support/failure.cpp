// SPDX-License-Identifier: BSD-3-Clause
#include "support/failure.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <new>
#include <stdexcept>

namespace plumbline {
namespace {

constexpr const char* out_of_memory = "out of memory; use a smaller model or batch, or a machine with more memory";

/// LibTorch's allocator throws its own error type, whose text includes a stack trace.
bool is_torchs_out_of_memory(const std::string& words) {
  return words.find("DefaultCPUAllocator") != std::string::npos;
}

std::string words_of(const std::filesystem::filesystem_error& error) {
  std::string words = error.path1().string();
  if (words.empty()) return fmt::format("a file or folder cannot be used: {}", error.what());
  if (!error.path2().empty()) words += " and " + error.path2().string();
  return fmt::format("{}: cannot be used: {}; check the path, its links and the rights", words, error.code().message());
}

}  // namespace

Failure describe_failure(const std::exception& error) {
  if (const auto* own = dynamic_cast<const Error*>(&error)) return {own->code(), own->what()};
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&error)) {
    return {ExitCode::bad_input, words_of(*file)};
  }
  // std::vector throws length_error for a size beyond any memory.
  const bool too_large = dynamic_cast<const std::length_error*>(&error) != nullptr;
  if (too_large || dynamic_cast<const std::bad_alloc*>(&error) != nullptr || is_torchs_out_of_memory(error.what())) {
    return {ExitCode::harness_failure, out_of_memory};
  }
  return {ExitCode::harness_failure, fmt::format("internal error: {}", error.what())};
}

std::optional<Failure> failure_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    return describe_failure(error);
  }
  return std::nullopt;
}

}  // namespace plumbline
