// SPDX-License-Identifier: BSD-3-Clause
// Writes the reports for people and programs from a verdict and the records next to it. Runs nothing.
#pragma once

#include <filesystem>

#include "record/verdict.hpp"

namespace plumbline {

/// Layout of a sweep's folder: verdict.json, references/<id>/ and cells/<id>/ (run records), launches/<id>/. From these
/// it writes report.html, junit.xml, results.csv, summary.md, annotations.txt, ctest.txt and trace.json (of one
/// case, if one has actions). Throws InputError if `folder` holds no verdict.
void write_reports(const std::filesystem::path& folder);

}  // namespace plumbline
