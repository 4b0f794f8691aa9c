// The kill matrix as a page: mutants against checks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/mutant/kill_matrix.hpp"

namespace plumbline::mutant {

/// One HTML document; a survivor's row is red.
std::string kill_page(const std::vector<Trial>& trials);
void write_kill_page(const std::filesystem::path& file, const std::vector<Trial>& trials);

}  // namespace plumbline::mutant
