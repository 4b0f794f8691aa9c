// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

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

void refuse_other_run(const fs::path& file) {
  if (fs::exists(file))
    throw InputError(
        fmt::format("{}: already exists, so this record holds another run; nothing was overwritten: give a new folder",
                    file.string()));
}

void require_new_record_folder(const fs::path& record) {
  if (!fs::exists(record)) return;
  if (!fs::is_directory(record))
    throw InputError(fmt::format("{}: is a file, not a folder; give the record a new folder", record.string()));
  if (!fs::is_empty(record))
    throw InputError(fmt::format(
        "{}: is not empty, so it may hold another run; nothing was overwritten: give a new folder or remove it",
        record.string()));
}

void claim_record_folder(const fs::path& record) {
  require_new_record_folder(record);
  make_folder(record);
}

void give_back_record_folder(const fs::path& record) noexcept {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(record, ignored)) fs::remove_all(entry.path(), ignored);
}

void write_manifest(const fs::path& record, const Json& manifest) {
  const fs::path path = record / "manifest.json";
  parse_manifest(path, manifest);  // refuse what a reader would refuse
  refuse_other_run(path);
  write_json(path, manifest);
}

void write_schedule_csv(const fs::path& record, std::string_view bytes) {
  refuse_other_run(record / "schedule.csv");
  write_file(record / "schedule.csv", bytes);
}

void write_accumulation_csv(const fs::path& record, std::string_view bytes) {
  refuse_other_run(record / "accumulation.csv");
  write_file(record / "accumulation.csv", bytes);
}

std::string new_run_id() {
  std::random_device random;
  std::array<unsigned, 16> bytes{};
  for (unsigned& byte : bytes) byte = random() & 0xFF;
  bytes[6] = (bytes[6] & 0x0F) | 0x40;  // version 4
  bytes[8] = (bytes[8] & 0x3F) | 0x80;  // variant of RFC 4122
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    text += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
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
