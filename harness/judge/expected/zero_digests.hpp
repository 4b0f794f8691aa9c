// SPDX-License-Identifier: BSD-3-Clause
// Digests of tensors that are zero throughout: how a digest alone tells that nothing was there.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "record/rows.hpp"

namespace plumbline::judging {

class ZeroDigests {
 public:
  /// Computed once for each dtype and shape; no digest where a tensor of that shape would have more than 64 GiB.
  const std::string& digest(const std::string& dtype, const Shape& shape);

 private:
  std::map<std::pair<std::string, Shape>, std::string> known_;
};

}  // namespace plumbline::judging
