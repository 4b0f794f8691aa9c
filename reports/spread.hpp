// Where a difference between two records begins and how it spreads: tensor x step x rank, by their digests.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "record/record.hpp"

namespace plumbline {

/// Of one tensor in one step, once for each half of a place: what crosses forward or the gradient, and what crosses
/// backward or the parameter after the update.
struct SpreadCount {
  std::int64_t compared = 0, differing = 0;
};
struct SpreadPlace {
  SpreadCount first, second;
};

struct SpreadRow {
  std::int64_t rank = 0;
  std::string tensor;    ///< "cut layers.3", or a parameter's name
  bool crosses = false;  ///< it is a cut
  std::map<std::int64_t, SpreadPlace> steps;
};

struct Spread {
  std::vector<SpreadRow> rows;  ///< those with a difference: by rank, cuts before parameters, as the records list them
  std::int64_t equal_rows = 0;  ///< the others

  bool nothing() const { return rows.empty(); }
};

/// Of what both records tell: records without tables of tensors show nothing.
Spread spread_of(const Record& reference, const Record& candidate);

/// An SVG element; of many steps the first from the one in which the difference begins, of many rows the first.
std::string draw_spread(const Spread& spread, const std::string& title);

}  // namespace plumbline
