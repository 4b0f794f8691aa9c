// SPDX-License-Identifier: BSD-3-Clause
// Input files of the harness and files that it writes: sweep file, request, sweep.json, calibration.
#include "harness/judge/limits/value_comparison.hpp"
#include "harness/judge/request/request.hpp"
#include "harness/sweep/kept_sweep.hpp"
#include "harness/sweep/sweep_file.hpp"
#include "harness/sweep/sweep_folder.hpp"
#include "tests/fuzz/reader.hpp"

namespace plumbline::fuzzing {
namespace {

namespace fs = std::filesystem;

const Registration all[] = {
    Registration({"sweep", "sweep.toml", [](const fs::path&, const fs::path& file) { read_sweep_file(file); },
                  "tests/fuzz/seeds/run"}),
    Registration({"request", "request.json", [](const fs::path&, const fs::path& file) { read_request(file); }}),
    Registration({"kept-sweep", "sweep.json", [](const fs::path&, const fs::path& file) { read_kept_sweep(file); }}),
    Registration({"sweep-folder", "sweep.json",
                  [](const fs::path& folder, const fs::path&) { static_cast<void>(SweepFolder(folder)); }}),
    Registration({"calibration", "calibration.json",
                  [](const fs::path&, const fs::path& file) { judging::read_calibration(file); }}),
};

}  // namespace
}  // namespace plumbline::fuzzing
