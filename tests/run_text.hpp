// SPDX-License-Identifier: BSD-3-Clause
// A run file for tests.
#pragma once

#include <string>

#include "tests/paths.hpp"

namespace plumbline::testing {

/// A model and the text of fixtures/, with these lines of [data], and of [train] and the tables after it.
inline std::string run_text(const std::string& data, const std::string& train,
                            const std::string& model = "stories260k") {
  const std::string fixtures = fixtures_path();
  return "[model]\nconfig = \"" + fixtures + "/models/" + model + "/config.json\"\n[data]\ntext = \"" + fixtures +
         "/corpus/\"\n" + data + "[train]\n" + train;
}

}  // namespace plumbline::testing
