// SPDX-License-Identifier: BSD-3-Clause
// An invalid record, with the place. Verdicts take file, rank and step from this error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "support/error.hpp"

namespace plumbline {

/// A place in a record.
struct RecordPlace {
  std::string file;  ///< relative to the record: "rank-1/memory.csv"
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> step;
};

/// `message` is complete and names the file with its full path.
class RecordError : public InputError {
 public:
  RecordError(RecordPlace place, const std::string& message) : InputError(message), place_(std::move(place)) {}
  const RecordPlace& place() const noexcept { return place_; }

 private:
  RecordPlace place_;
};

}  // namespace plumbline
