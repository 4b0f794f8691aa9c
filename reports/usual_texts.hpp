// SPDX-License-Identifier: BSD-3-Clause
// What most cells say of a check: said once on the page, so that what a cell says beside it is seen.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "record/verdict.hpp"

namespace plumbline {

struct UsualTexts {
  struct Of {
    std::string check;
    /// Of at least two cells, more than say anything else; else empty. `aside`: the reason where it does not apply.
    std::string limit, reason, aside, not_shown;
  };
  std::vector<Of> checks;  ///< in the order of the verdict's table
  std::string command;     ///< that runs one cell again, with CELL for its id

  /// The text, or nothing where it is what the check usually says.
  std::string unusual_limit(const CheckResult& check) const;
  std::string unusual_reason(const CheckResult& check) const;
  std::vector<std::string> unusual_not_shown(const CheckResult& check) const;
  std::string unusual_command(const CellVerdict& cell) const;
};

UsualTexts usual_texts(const Verdict& verdict);

}  // namespace plumbline
