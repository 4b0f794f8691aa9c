// SPDX-License-Identifier: BSD-3-Clause
// From a verdict and the records beside it to the files people and machines read. Runs nothing.
#pragma once

#include <filesystem>

#include "record/verdict.hpp"

namespace plumbline {

/// Layout of a sweep's folder: verdict.json, references/<id>/ and cells/<id>/ (run records), launches/<id>/. From these
/// alone it writes report.html, junit.xml, results.csv, summary.md, annotations.txt, ctest.txt and trace.json (of one
/// cell, where one has actions). Throws InputError when `folder` holds no verdict.
void write_reports(const std::filesystem::path& folder);

}  // namespace plumbline
