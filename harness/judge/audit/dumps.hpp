// SPDX-License-Identifier: BSD-3-Clause
// A record's dumps/, opened on demand.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "record/record.hpp"
#include "support/safetensors.hpp"

namespace plumbline::auditing {

class Dumps {
 public:
  explicit Dumps(const Record& record) : record_(record) {}

  /// Total bytes of all files.
  std::uintmax_t bytes() const;
  /// Maps the file on the first call. Throws InputError if it cannot be read.
  const SafetensorsFile& file(std::int64_t rank, std::int64_t step);
  /// Null if the file has no such tensor.
  const SafetensorsEntry* find(std::int64_t rank, std::int64_t step, const std::string& key);
  /// Closes the files of earlier steps.
  void forget_before(std::int64_t step);

  /// "rank-0/dumps/step-3.safetensors".
  static std::string name(std::int64_t rank, std::int64_t step);

 private:
  const Record& record_;
  std::map<std::pair<std::int64_t, std::int64_t>, SafetensorsFile> files_;  ///< by step and rank
};

}  // namespace plumbline::auditing
