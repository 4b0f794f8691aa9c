// The speeds of a baseline: what a bench measured, as ratios to the reference of the same run, on one machine.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "record/bench_result.hpp"
#include "record/json_keys.hpp"

namespace plumbline {

struct CellSpeed {
  std::string asked;                ///< digest of what was asked of the cell
  MedianInterval ratio;             ///< tokens/s over those of the reference of the same round
  std::optional<double> simulated;  ///< the ratio that its schedule allows, by its simulation with the measured times
};

struct Speeds {
  std::string bench, taken, machine, machine_name;
  double noise = 0;  ///< the bench's
  bool quiet = false;
  std::map<std::string, CellSpeed> cells;  ///< by id
};

/// Of the folder of a finished bench. Throws InputError where none lies there.
Speeds take_speeds(const std::filesystem::path& bench);

Json to_json(const Speeds& speeds);
Speeds read_speeds(const JsonKeys& keys);

}  // namespace plumbline
