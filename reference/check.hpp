// SPDX-License-Identifier: BSD-3-Clause
// Implements plumbline-reference RUN.toml --check.
#pragma once

#include "reference/trainer.hpp"

namespace plumbline {

/// Checks whether the run could start on this machine; does not train. Returns the exit code.
int check_reference(const ReferenceOptions& options, bool as_json);

}  // namespace plumbline
