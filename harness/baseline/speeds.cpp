#include "harness/baseline/speeds.hpp"

#include "harness/baseline/run_identity.hpp"

namespace plumbline {

Speeds take_speeds(const std::filesystem::path& bench) {
  const BenchResult result = read_bench_result(bench / "bench.json");
  Speeds speeds{result.name,
                result.started,
                machine_fingerprint(result.machine),
                machine_name(result.machine),
                result.noise,
                result.quiet(),
                {}};
  for (const BenchCell& cell : result.cells)
    speeds.cells[cell.id] = {asked_digest(cell.request), cell.speed, cell.simulated_speed};
  return speeds;
}

Json to_json(const Speeds& speeds) {
  Json json = {{"bench", speeds.bench},     {"taken", speeds.taken},
               {"machine", speeds.machine}, {"machine_name", speeds.machine_name},
               {"noise", speeds.noise},     {"quiet", speeds.quiet},
               {"cells", Json::array()}};
  for (const auto& [id, cell] : speeds.cells) {
    json["cells"].push_back({{"id", id},
                             {"asked", cell.asked},
                             {"ratio", cell.ratio.median},
                             {"low", cell.ratio.low},
                             {"high", cell.ratio.high},
                             {"simulated", cell.simulated ? Json(*cell.simulated) : Json(nullptr)}});
  }
  return json;
}

Speeds read_speeds(const JsonKeys& keys) {
  Speeds speeds{keys.text("bench"),
                keys.text("taken"),
                keys.text("machine"),
                keys.text("machine_name"),
                keys.number("noise"),
                keys.at("quiet") == Json(true),
                {}};
  for (const JsonKeys& each : keys.objects("cells")) {
    CellSpeed cell{each.text("asked"), {each.number("ratio"), each.number("low"), each.number("high")}, std::nullopt};
    if (!(cell.ratio.low > 0 && cell.ratio.low <= cell.ratio.median && cell.ratio.median <= cell.ratio.high))
      each.fail("ratio", "does not lie in its interval above 0");
    if (each.has_value("simulated")) cell.simulated = each.number("simulated");
    speeds.cells[each.text("id")] = cell;
  }
  return speeds;
}

}  // namespace plumbline
