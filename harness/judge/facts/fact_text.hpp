// SPDX-License-Identifier: BSD-3-Clause
// Facts as text, for messages and for `plumbline record show --facts`.
#pragma once

#include <string>

#include "harness/judge/facts/fact.hpp"

namespace plumbline::judging {

/// A digest, or the shortest text that reads back to the same bits: equal texts are equal values.
std::string text_of(const Value& value);

/// "gradient model.norm.weight", "forward layers.1 send, microbatch 3", "loss, microbatch 3", "learning_rate".
std::string name_of(const Fact& fact);

/// A line of CSV with the columns of fact_header().
std::string csv_of(std::int64_t step, const Fact& fact);
std::string fact_header();

}  // namespace plumbline::judging
