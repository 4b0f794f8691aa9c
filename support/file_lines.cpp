// SPDX-License-Identifier: BSD-3-Clause
#include "support/file_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/plain_text.hpp"

namespace plumbline {
namespace {

/// Small enough to read hundreds of tables at the same time.
constexpr std::size_t chunk = std::size_t{1} << 15;

/// Enough for schedules with millions of actions on a rank. Bounds the memory for damaged files.
constexpr std::size_t longest_line = std::size_t{64} << 20;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

}  // namespace

void refuse_line(const std::filesystem::path& path, std::size_t line, const std::string& what) {
  throw InputError(fmt::format("{}:{}: {}", path.string(), line, what));
}

FileLines::FileLines(const std::filesystem::path& path, UnfinishedLine unfinished)
    : path_(path), end_(file_bytes(path)) {
  const std::size_t finished = find_end();
  cut_off_ = unfinished == UnfinishedLine::leave_out && finished < end_;
  takes_unfinished_ = unfinished == UnfinishedLine::take;
  const bool unfinished_line = unfinished == UnfinishedLine::refuse && finished < end_;
  if (cut_off_) end_ = finished;
  fill();
  if (buffer_.starts_with(byte_order_mark)) place_ = byte_order_mark.size();
  if (place_ == buffer_.size()) refuse_line(path_, 1, "the file is empty; it may be truncated");
  if (unfinished_line) refuse_unfinished();
}

/// Offset after the last line break; 0 if there is none.
std::size_t FileLines::find_end() const {
  std::string bytes;
  for (std::size_t before = end_; before > 0;) {
    const std::size_t size = std::min(before, chunk);
    bytes.resize(size);
    const std::size_t got = read_file_at(path_, before - size, std::span(bytes));
    const auto found = std::string_view(bytes).substr(0, got).rfind('\n');
    if (found != std::string_view::npos) return before - size + found + 1;
    before -= size;
  }
  return 0;
}

void FileLines::fill() {
  buffer_.erase(0, place_);
  place_ = 0;
  const std::size_t kept = buffer_.size(), wanted = std::min(chunk, end_ - read_);
  buffer_.resize(kept + wanted);
  const std::size_t got = read_file_at(path_, read_, std::span(buffer_).subspan(kept));
  buffer_.resize(kept + got);
  read_ += got;
  if (got < wanted) end_ = read_;  // the file was truncated meanwhile
  if (takes_unfinished_ && read_ == end_ && !buffer_.empty() && buffer_.back() != '\n') buffer_ += '\n';
}

bool FileLines::next(std::string_view& line) {
  std::size_t searched = place_;
  std::size_t found = buffer_.find('\n', searched);
  while (found == std::string::npos && read_ < end_) {
    if (buffer_.size() - place_ > longest_line)
      refuse_line(path_, number_ + 1,
                  fmt::format("a line of more than {} MiB; the file is damaged", longest_line >> 20U));
    searched = buffer_.size() - place_;
    fill();
    found = buffer_.find('\n', searched);
  }
  if (place_ == buffer_.size()) return false;
  ++number_;
  const std::size_t end = found == std::string::npos ? buffer_.size() : found + 1;
  line = std::string_view(buffer_).substr(place_, end - place_);
  place_ = end;
  refuse_what_is_no_text(path_, line, number_);  // names go from here into pages, messages and JSON
  if (found == std::string::npos) refuse_line(path_, number_, "the file ends without a line break; it is truncated");
  return true;
}

/// Reports invalid text before an unfinished last line.
void FileLines::refuse_unfinished() {
  std::string_view line;
  while (next(line)) continue;
  refuse_line(path_, number_ + 1, "the file ends without a line break; it is truncated");
}

bool has_whole_line(const std::filesystem::path& path) {
  std::string bytes(chunk, '\0');
  for (std::size_t at = 0;;) {
    const std::size_t got = read_file_at(path, at, std::span(bytes));
    if (std::string_view(bytes).substr(0, got).find('\n') != std::string_view::npos) return true;
    if (got < bytes.size()) return false;
    at += got;
  }
}

}  // namespace plumbline
