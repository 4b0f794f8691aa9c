// SPDX-License-Identifier: BSD-3-Clause
// Which fault to inject, and where: "C9@rank=1,microbatch=2,step=0".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/mutant/seams.hpp"

namespace plumbline::mutant {

struct Fault {
  std::string id;
  std::int64_t rank = 0;
  std::optional<std::int64_t> microbatch;  ///< absent: all of them
  std::int64_t step = 0;

  bool strikes(std::int64_t at_step, std::int64_t at_microbatch) const {
    return at_step == step && (!microbatch || *microbatch == at_microbatch);
  }
};

/// Throws InputError, which names the known faults or keys.
Fault parse_fault(const std::string& text);

struct KnownFault {
  const char* id;
  const char* what;
};
const std::vector<KnownFault>& known_faults();

/// P1, H5, H5s: changes the plan, or a rank's reading of it. Other faults change nothing.
void change_plan(const Fault& fault, PipelinePlan& plan);

/// The seams of one rank with the fault; a rank without the fault gets the plain ones.
std::unique_ptr<Seams> make_seams(const Fault& fault, int rank);

}  // namespace plumbline::mutant
