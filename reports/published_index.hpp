// A page that lists the reports in a folder, so that one link leads to all of them.
#pragma once

#include <filesystem>
#include <string>

namespace plumbline {

/// Of each <folder>/<name>/ with a report.html and a verdict.json, by name. Throws InputError where there is none, or a
/// verdict cannot be read. Below them each <folder>/<name>/<name>.html, by its title and description.
std::string published_index(const std::filesystem::path& folder);

}  // namespace plumbline
