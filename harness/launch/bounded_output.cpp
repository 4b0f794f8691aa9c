// SPDX-License-Identifier: BSD-3-Clause
#include "harness/launch/bounded_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "support/error.hpp"

namespace plumbline {
namespace {

/// Returns false if writing fails.
bool write_all(int file, const char* bytes, std::int64_t count) {
  while (count > 0) {
    const auto written = write(file, bytes, static_cast<std::size_t>(count));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes += written;
    count -= written;
  }
  return true;
}

void close_one(int& file) {
  if (file >= 0) close(file);
  file = -1;
}

}  // namespace

BoundedOutput::BoundedOutput(const std::filesystem::path& file, std::int64_t first, std::int64_t last)
    : first_left_(first), most_last_(last) {
  file_ = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) throw SystemError(file.string() + ": cannot be written (" + std::strerror(errno) + ")");
  int ends[2] = {-1, -1};
  stop_ = eventfd(0, EFD_CLOEXEC);
  if (stop_ < 0 || pipe2(ends, O_CLOEXEC) != 0) {
    const int why = errno;
    close_one(file_);
    close_one(stop_);
    throw SystemError(std::string("cannot make a pipe: ") + std::strerror(why));
  }
  outlet_ = ends[0];
  inlet_ = ends[1];
  fcntl(outlet_, F_SETFL, O_NONBLOCK);
}

BoundedOutput::~BoundedOutput() {
  finish();
  close_one(inlet_);
  close_one(outlet_);
  close_one(stop_);
}

void BoundedOutput::started() {
  close_one(inlet_);
  reader_ = std::thread([this] { read_to_the_end(); });
}

void BoundedOutput::finish() {
  if (reader_.joinable()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto ignored = write(stop_, &one, sizeof one);
    reader_.join();
    write_last();
  }
  close_one(file_);
}

/// Reads until all write ends are closed, or until finish() was called and nothing is left.
void BoundedOutput::read_to_the_end() {
  std::array<char, 1 << 16> bytes;
  for (bool stop = false;;) {
    const auto got = read(outlet_, bytes.data(), bytes.size());
    if (got > 0) {
      keep(bytes.data(), got);
      continue;
    }
    if (got == 0 || (errno != EAGAIN && errno != EINTR) || stop) return;
    std::array<pollfd, 2> ends = {pollfd{outlet_, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
    poll(ends.data(), ends.size(), -1);
    stop = ends[1].revents != 0;
  }
}

void BoundedOutput::keep(const char* bytes, std::int64_t count) {
  const std::int64_t now = std::min(count, first_left_);
  if (!write_all(file_, bytes, now)) close_one(file_);
  first_left_ -= now;
  last_.append(bytes + now, static_cast<std::size_t>(count - now));
  if (std::ssize(last_) > 2 * most_last_) drop_all_but_last();  // rarely, because each call moves the kept bytes
}

void BoundedOutput::drop_all_but_last() {
  const std::int64_t too_many = std::ssize(last_) - most_last_;
  if (too_many <= 0) return;
  left_out_ += too_many;
  last_.erase(0, static_cast<std::size_t>(too_many));
}

void BoundedOutput::write_last() {
  drop_all_but_last();
  if (left_out_ > 0) last_.insert(0, "\n[" + std::to_string(left_out_) + " bytes omitted]\n");
  write_all(file_, last_.data(), std::ssize(last_));
}

}  // namespace plumbline
