// SPDX-License-Identifier: BSD-3-Clause
#include "support/error.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <new>
#include <string_view>

#include "support/plain_text.hpp"
#include "support/terminal.hpp"

namespace plumbline {
namespace {

/// Opens /dev/null on closed standard streams; otherwise the next opened file would get such a descriptor and receive
/// output meant for the stream. Read-only, so that writes still fail as before.
void occupy_closed_standard_streams() noexcept {
  for (int file = 0; (file = ::open("/dev/null", O_RDONLY)) >= 0;) {
    if (file <= STDERR_FILENO) continue;
    ::close(file);
    return;
  }
}

int report(const std::string& program, const std::string& message, ExitCode code) noexcept {
  std::fflush(stdout);
  try {
    const auto width =
        terminal_width(stderr);  // in a pipe a message stays on one line, for harnesses that search for it
    const std::string text = printable_lines(fmt::format("{}: {}\n", program, message));
    std::fputs((width ? wrapped(text, *width) : text).c_str(), stderr);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), message.c_str());
  }
  return static_cast<int>(code);
}

/// Flushes std::cout and stdout. Throws SystemError.
void finish_standard_output() {
  errno = 0;
  const bool streamed = static_cast<bool>(std::cout.flush());
  const bool printed = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (streamed && printed) return;
  const std::string why = errno != 0 ? fmt::format(": {}", std::strerror(errno)) : "";
  throw SystemError(fmt::format("the output cannot be written{}; it is incomplete", why));
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
  // std::vector throws length_error for a size beyond any memory, LibTorch's allocator a type of its own with a stack
  // trace.
  if (dynamic_cast<const std::length_error*>(&error) != nullptr ||
      dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      std::string_view(error.what()).find("DefaultCPUAllocator") != std::string_view::npos)
    return {ExitCode::harness_failure, "out of memory; use a smaller model or batch, or a machine with more memory"};
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

int run_main(const std::string& program, const std::function<int()>& body) noexcept try {
  occupy_closed_standard_streams();
  // A file that exceeds its allowed size (ulimit -f) is an error of the write, and does not kill the program silently.
  ::signal(SIGXFSZ, SIG_IGN);
  const int code = body();
  finish_standard_output();
  return code;
} catch (const std::exception& error) {
  try {
    const Failure failure = describe_failure(error);
    return report(program, failure.words, failure.code);
  } catch (...) {
    return report(program, "out of memory, also for the error message", ExitCode::harness_failure);
  }
} catch (...) {
  return report(program, "internal error: an exception of unknown type", ExitCode::harness_failure);
}

}  // namespace plumbline
