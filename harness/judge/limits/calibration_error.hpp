// SPDX-License-Identifier: BSD-3-Clause
// The calibration cannot be used because its float64 reference is damaged. This does not depend on the candidate.
#pragma once

#include <string>

#include "support/error.hpp"

namespace plumbline::judging {

class CalibrationError : public InputError {
 public:
  explicit CalibrationError(const std::string& message)
      : InputError("not measured, the calibration's float64 reference is damaged: " + message +
                   "; run `plumbline calibrate` again") {}
};

}  // namespace plumbline::judging
