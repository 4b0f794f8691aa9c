// SPDX-License-Identifier: BSD-3-Clause
// plumbline-reference RUN.toml --check.
#pragma once

#include "reference/trainer.hpp"

namespace plumbline {

/// Whether the run could begin on this machine; trains nothing. Returns the exit code.
int check_reference(const ReferenceOptions& options, bool as_json);

}  // namespace plumbline
