// SPDX-License-Identifier: BSD-3-Clause
// Which tables of a complete rank must stand in a record, and which of them must have rows: decided from the manifest
// alone.
#pragma once

#include <cstdint>
#include <string>

#include "record/record.hpp"

namespace plumbline {

enum class Demand {
  none,    ///< the level or the role does not ask for the table
  header,  ///< the table stands there; the rank owns nothing that it would list, or its recorder could not see it
  rows,    ///< the table has rows
};

/// `file`: "tensors.csv".
Demand demand_of(const std::string& file, const Manifest& manifest, std::int64_t rank);

/// schedule.csv stands at every level but `none`; a trainer of someone else's may have no list.
bool demands_schedule(const Manifest& manifest);

/// Whether the rank has a unit of the model, and so parameters.
bool owns_units(const Manifest& manifest, std::int64_t rank);

}  // namespace plumbline
