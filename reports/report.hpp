// From a verdict and the records beside it to the files people and machines read. Runs nothing.
#pragma once

#include <filesystem>

#include "record/verdict.hpp"

namespace plumbline {

/// Layout of a sweep's folder: verdict.json, junit.xml, results.csv, report.html, references/<id>/ and cells/<id>/ (run
/// records). Writes junit.xml, results.csv and report.html from verdict.json and the records. Throws InputError when
/// `folder` holds no verdict.
void write_reports(const std::filesystem::path& folder);

}  // namespace plumbline
