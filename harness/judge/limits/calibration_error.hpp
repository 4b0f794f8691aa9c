// SPDX-License-Identifier: BSD-3-Clause
// A calibration that cannot be measured against: its shadow is damaged. That says nothing of the candidate.
#pragma once

#include <string>

#include "support/error.hpp"

namespace plumbline::judging {

class CalibrationError : public InputError {
 public:
  explicit CalibrationError(const std::string& message)
      : InputError("not measured, the calibration's shadow is damaged: " + message +
                   "; run `plumbline calibrate` again") {}
};

}  // namespace plumbline::judging
