// SPDX-License-Identifier: BSD-3-Clause
#include "support/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "support/error.hpp"
#include "support/machine_memory.hpp"

namespace plumbline {
namespace fs = std::filesystem;
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  /// Closes explicitly, to see errors that only close reports (network file systems).
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

[[noreturn]] void fail_reading(const fs::path& path, int error) {
  throw InputError(
      fmt::format("{}: cannot be read: {}; check the path and the rights", path.string(), std::strerror(error)));
}

void write_all(const Descriptor& file, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_writing(path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Creates a file with an unused name in the folder of `path`.
std::pair<int, fs::path> open_temporary(const fs::path& path) {
  for (std::int64_t attempt = 0;; ++attempt) {
    fs::path name = path;
    name += fmt::format(".{}.{}.partial", ::getpid(), attempt);
    const int fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) return {fd, name};
    if (errno != EEXIST) fail_writing(path, errno);
  }
}

using Pieces = std::function<std::string_view(std::size_t)>;

void write_directly(const fs::path& path, std::size_t pieces, const Pieces& piece) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) fail_writing(path, errno);
  for (std::size_t i = 0; i < pieces; ++i) write_all(file, piece(i), path);
  if (file.close() != 0) fail_writing(path, errno);
}

/// A regular file, open for reading.
class Source {
 public:
  explicit Source(const fs::path& path)  // O_NONBLOCK: opening a pipe without a writer would block
      : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (file_.get() < 0 || ::fstat(file_.get(), &status_) != 0) fail_reading(path, errno);
    if (S_ISDIR(status_.st_mode)) fail_reading(path, EISDIR);
    if (!S_ISREG(status_.st_mode))
      throw InputError(
          fmt::format("{}: is a device, a pipe or a socket, which may have no end; name a file", path.string()));
  }

  std::size_t bytes() const { return static_cast<std::size_t>(status_.st_size); }
  /// Returns fewer bytes than asked for only at the end.
  std::size_t read(std::size_t offset, std::span<char> into) const {
    std::size_t filled = 0;
    while (filled < into.size()) {
      const std::span<char> rest = into.subspan(filled);
      const ssize_t got = ::pread(file_.get(), rest.data(), rest.size(), static_cast<off_t>(offset + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail_reading(path_, errno);
      if (got == 0) break;
      filled += static_cast<std::size_t>(got);
    }
    return filled;
  }

 private:
  const fs::path& path_;
  Descriptor file_;
  struct stat status_ {};
};

[[noreturn]] void fail_to_make(const fs::path& path, const std::error_code& error) {
  throw SystemError(fmt::format("{}: the folder cannot be created: {}; choose another place or check the rights",
                                path.string(), error.message()));
}

}  // namespace

std::size_t file_bytes(const fs::path& path) {
  return Source(path).bytes();
}

std::size_t read_file_at(const fs::path& path, std::size_t offset, std::span<char> into) {
  return Source(path).read(offset, into);
}

void refuse_larger(const fs::path& path, std::size_t bytes, std::size_t most) {
  if (bytes <= most) return;
  throw InputError(fmt::format("{}: has {} bytes, and at most {} MiB are read of such a file; is it the right one?",
                               path.string(), bytes, most >> 20U));
}

std::string read_file(const fs::path& path, std::size_t most) {
  const Source file(path);
  refuse_larger(path, file.bytes(), most);
  require_memory(static_cast<std::int64_t>(file.bytes()), path.string() + ": the file");
  std::string bytes(file.bytes() + 1, '\0');  // one more, so that the end is read without another allocation
  std::size_t filled = file.read(0, std::span(bytes));
  while (filled == bytes.size()) {
    bytes.resize(filled + (std::size_t{1} << 16));
    filled += file.read(filled, std::span(bytes).subspan(filled));
    refuse_larger(path, filled, most);  // of /proc, or a file that grows
  }
  bytes.resize(filled);
  return bytes;
}

void fail_writing(const fs::path& path, int error) {
  throw SystemError(
      fmt::format("{}: cannot be written: {}; {}", path.string(), std::strerror(error), advice_on_writing(error)));
}

void sync_path(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() >= 0) ::fsync(file.get());
}

std::string advice_on_writing(int error) {
  if (error == ENOSPC || error == EDQUOT) return "free space on that disk or choose another folder";
  if (error == EFBIG) return "raise the limit on the size of files (ulimit -f)";
  return "check that the folder exists and may be written to";
}

void write_file(const fs::path& path, std::string_view bytes) {
  write_file_pieces(path, 1, [&](std::size_t) { return bytes; });
}

void write_file_pieces(const fs::path& path, std::size_t pieces, const Pieces& piece) {
  std::error_code absent;
  const fs::file_status target = fs::status(path, absent);
  if (fs::is_directory(target)) fail_writing(path, EISDIR);
  if (fs::exists(target) && !fs::is_regular_file(target)) return write_directly(path, pieces, piece);

  const auto [fd, temporary] = open_temporary(path);
  try {
    Descriptor file(fd);
    for (std::size_t i = 0; i < pieces; ++i) write_all(file, piece(i), path);
    if (::fsync(file.get()) != 0) fail_writing(path, errno);
    if (file.close() != 0) fail_writing(path, errno);
    if (::rename(temporary.c_str(), path.c_str()) != 0) fail_writing(path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && !fs::is_directory(path, error) && !error) error = std::make_error_code(std::errc::not_a_directory);
  if (error) fail_to_make(path, error);
}

void require_folder_can_be_made(const fs::path& path) {
  std::error_code error;
  fs::path existing = fs::absolute(path);
  while (!fs::exists(existing, error) && existing.has_relative_path()) existing = existing.parent_path();
  if (!fs::is_directory(existing, error)) fail_to_make(path, std::make_error_code(std::errc::not_a_directory));
  if (::access(existing.c_str(), W_OK | X_OK) != 0) fail_to_make(path, {errno, std::generic_category()});
}

}  // namespace plumbline
