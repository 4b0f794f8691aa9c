// SPDX-License-Identifier: BSD-3-Clause
// `plumbline compare BEFORE NOW` on the folders of two sweeps: what changed. A baseline is such a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace plumbline {

struct SweepComparison {
  std::int64_t references = 0, byte_counts = 0;  ///< numbers of compared items
  std::vector<std::string> changes;              ///< "bits, <reference>: ...", "bytes, <run>: ...", "case <id>: ..."
  std::vector<std::string> environment;          ///< differences of machine, versions and environment
  std::vector<std::string> not_compared;         ///< what, and why
};

/// Judges each reference of `now` by the one of `before`, as any two records, and so all cases that equal it in bits;
/// compares the bytes of memory.csv of runs whose requests are equal; and lists cases that do not hold, were not run
/// any more, or lost a check. Of `before` only verdict.json, the records in references/ and memory.csv of the cases are
/// read. Bits are compared on the same code path alone: processor, libraries and settings that select kernels. Throws
/// InputError if one of them is not a sweep's folder or a record cannot be read.
SweepComparison compare_sweeps(const std::filesystem::path& before, const std::filesystem::path& now);

std::string to_text(const SweepComparison& comparison);

}  // namespace plumbline
