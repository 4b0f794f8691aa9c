// SPDX-License-Identifier: BSD-3-Clause
// Which tables a complete rank must have, and which of them must have rows: derived from the manifest alone.
#pragma once

#include <cstdint>
#include <string>

#include "record/record.hpp"

namespace plumbline {

enum class Demand {
  none,    ///< level and role do not require the table
  header,  ///< the table must exist and may be empty: the rank owns nothing that it lists, or the recorder could not
           ///< see it
  rows,    ///< the table must have rows
};

/// `file`: "tensors.csv".
Demand demand_of(const std::string& file, const Manifest& manifest, std::int64_t rank);

/// True if the record must have schedule.csv: at every level but `none`; external trainers may have no list.
bool demands_schedule(const Manifest& manifest);

/// True if the rank has a unit of the model, and so parameters.
bool owns_units(const Manifest& manifest, std::int64_t rank);

}  // namespace plumbline
