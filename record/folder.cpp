// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <random>

#include "record/manifest.hpp"
#include "record/writer.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

namespace plumbline {
namespace fs = std::filesystem;
namespace {

void refuse_existing(const fs::path& path) {
  if (fs::exists(path))
    throw InputError(path.string() +
                     ": already exists, so another run writes this record; give each run its own folder");
}

}  // namespace

void claim_record_folder(const fs::path& record) {
  if (fs::exists(record) && !fs::is_directory(record))
    throw InputError(record.string() + ": is a file, not a folder; give the record a new folder");
  make_folder(record);
  if (!fs::is_empty(record))
    throw InputError(
        record.string() +
        ": is not empty, so it may hold another run; nothing was overwritten: give a new folder or remove it");
}

void give_back_record_folder(const fs::path& record) noexcept {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(record, ignored)) fs::remove_all(entry.path(), ignored);
}

void write_manifest(const fs::path& record, const Json& manifest) {
  const fs::path path = record / "manifest.json";
  parse_manifest(path, manifest);  // refuse what a reader would refuse
  refuse_existing(path);
  write_json(path, manifest);
}

void write_schedule_csv(const fs::path& record, std::string_view bytes) {
  const fs::path path = record / "schedule.csv";
  refuse_existing(path);
  write_file(path, bytes);
}

void write_accumulation_csv(const fs::path& record, std::string_view bytes) {
  const fs::path path = record / "accumulation.csv";
  refuse_existing(path);
  write_file(path, bytes);
}

std::string new_run_id() {
  std::random_device random;
  std::array<unsigned, 16> bytes{};
  for (unsigned& byte : bytes) byte = random() & 0xFF;
  bytes[6] = (bytes[6] & 0x0F) | 0x40;  // version 4
  bytes[8] = (bytes[8] & 0x3F) | 0x80;  // variant of RFC 4122
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += "0123456789abcdef"[bytes[i] >> 4];
    text += "0123456789abcdef"[bytes[i] & 15];
  }
  return text;
}

std::string now_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text.data(), length};
}

}  // namespace plumbline
