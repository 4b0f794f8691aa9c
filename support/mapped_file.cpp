// SPDX-License-Identifier: BSD-3-Clause
#include "support/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "support/error.hpp"

namespace plumbline {

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int fd =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // opening a pipe without a writer must not block
  struct stat status {};
  const bool usable = fd >= 0 && ::fstat(fd, &status) == 0;
  bool mapped = usable;
  if (usable && S_ISREG(status.st_mode) && status.st_size > 0) {
    size_ = static_cast<std::size_t>(status.st_size);
    void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
    mapped = address != MAP_FAILED;
    if (mapped) address_ = address;
  }
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (usable && !S_ISREG(status.st_mode)) throw InputError(path.string() + ": is not a file");
  if (!mapped) throw InputError(fmt::format("{}: cannot be read: {}", path.string(), std::strerror(error)));
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace plumbline
