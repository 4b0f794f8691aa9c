// SPDX-License-Identifier: BSD-3-Clause
// Texts that most cases have for a check: shown once on the page, so that exceptions are visible.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "record/verdict.hpp"

namespace plumbline {

struct UsualTexts {
  struct Of {
    std::string check;
    /// The most frequent text, of at least two cases; else empty. `aside`: the reason if it does not apply.
    std::string limit, reason, aside, not_shown;
  };
  std::vector<Of> checks;  ///< in the order of the verdict's table
  std::string command;     ///< that runs one case again, with CELL for its id

  /// The text, or nothing if it is the usual one.
  std::string unusual_limit(const CheckResult& check) const;
  std::string unusual_reason(const CheckResult& check) const;
  std::vector<std::string> unusual_not_shown(const CheckResult& check) const;
  std::string unusual_command(const CellVerdict& cell) const;
};

UsualTexts usual_texts(const Verdict& verdict);

}  // namespace plumbline
