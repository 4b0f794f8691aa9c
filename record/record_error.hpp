// SPDX-License-Identifier: BSD-3-Clause
// A record that cannot be as it stands, with the place: what a verdict says of file, rank and step comes from here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "support/error.hpp"

namespace plumbline {

/// Where in a record.
struct RecordPlace {
  std::string file;  ///< within the record: "rank-1/memory.csv"
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> step;
};

/// `message` is complete and names the file with its whole path.
class RecordError : public InputError {
 public:
  RecordError(RecordPlace place, const std::string& message) : InputError(message), place_(std::move(place)) {}
  const RecordPlace& place() const noexcept { return place_; }

 private:
  RecordPlace place_;
};

}  // namespace plumbline
