#include "record/bench_result.hpp"

#include "record/json_keys.hpp"

namespace plumbline {
namespace {

Json to_json(const MedianInterval& of) {
  return {{"median", of.median}, {"low", of.low}, {"high", of.high}};
}

Json json_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_or_null(const std::optional<MedianInterval>& value) {
  return value ? to_json(*value) : Json(nullptr);
}

Json json_or_null(const std::optional<BenchBubble>& bubble) {
  if (!bubble) return nullptr;
  return {{"measured", to_json(bubble->measured)},
          {"simulated", bubble->simulated},
          {"closed_form", json_or_null(bubble->closed_form)}};
}

MedianInterval bench_interval_of(const JsonKeys& keys, const std::string& key) {
  const JsonKeys of = keys.object(key);
  const MedianInterval interval{of.number("median"), of.number("low"), of.number("high")};
  if (!(interval.low <= interval.median && interval.median <= interval.high))
    keys.fail(key, "its median does not lie in its interval");
  return interval;
}

double above_zero(const JsonKeys& keys, const std::string& key) {
  const double number = keys.number(key);
  if (!(number > 0)) keys.fail(key, "is not above 0");
  return number;
}

BenchReference bench_reference_of(const JsonKeys& keys) {
  BenchReference reference;
  reference.id = keys.text("id");
  reference.request = keys.at("request");
  reference.step_ms = bench_interval_of(keys, "step_ms");
  reference.tokens_per_s = bench_interval_of(keys, "tokens_per_s");
  reference.second = bench_interval_of(keys, "second");
  return reference;
}

BenchCell bench_cell_of(const JsonKeys& keys) {
  BenchCell cell;
  cell.id = keys.text("id");
  cell.reference = keys.text("reference");
  cell.schedule = keys.text("schedule");
  cell.world = keys.integer("world", 1);
  cell.request = keys.at("request");
  cell.oversubscribed = keys.at("oversubscribed") == Json(true);
  cell.step_ms = bench_interval_of(keys, "step_ms");
  cell.tokens_per_s = bench_interval_of(keys, "tokens_per_s");
  cell.speed = bench_interval_of(keys, "speed");
  if (!(cell.speed.low > 0)) keys.fail("speed", "is not above 0");
  for (const Json& speed : keys.at("round_speeds")) {
    if (!speed.is_number() || !(speed.get<double>() > 0)) keys.fail("round_speeds", "is no list of numbers above 0");
    cell.round_speeds.push_back(speed.get<double>());
  }
  cell.fast_speed = above_zero(keys, "fast_speed");
  if (keys.has_value("efficiency")) cell.efficiency = bench_interval_of(keys, "efficiency");
  if (keys.has_value("simulated_speed")) cell.simulated_speed = above_zero(keys, "simulated_speed");
  if (!keys.has_value("bubble")) return cell;
  const JsonKeys bubble = keys.object("bubble");
  cell.bubble.emplace();
  cell.bubble->measured = bench_interval_of(bubble, "measured");
  cell.bubble->simulated = bubble.number("simulated");
  if (bubble.has_value("closed_form")) cell.bubble->closed_form = bubble.number("closed_form");
  return cell;
}

}  // namespace

Json to_json(const BenchResult& result) {
  Json json = {{"schema", bench_schema},    {"name", result.name},
               {"started", result.started}, {"machine", result.machine},
               {"cores", result.cores},     {"rounds", result.rounds},
               {"steps", result.steps},     {"coverage", result.coverage},
               {"noise", result.noise},     {"quiet_limit", result.quiet_limit},
               {"quiet", result.quiet()},   {"references", Json::array()},
               {"cells", Json::array()},    {"failed", result.failed}};
  for (const BenchReference& reference : result.references)
    json["references"].push_back({{"id", reference.id},
                                  {"request", reference.request},
                                  {"step_ms", to_json(reference.step_ms)},
                                  {"tokens_per_s", to_json(reference.tokens_per_s)},
                                  {"second", to_json(reference.second)}});
  for (const BenchCell& cell : result.cells)
    json["cells"].push_back({{"id", cell.id},
                             {"reference", cell.reference},
                             {"schedule", cell.schedule},
                             {"world", cell.world},
                             {"request", cell.request},
                             {"oversubscribed", cell.oversubscribed},
                             {"step_ms", to_json(cell.step_ms)},
                             {"tokens_per_s", to_json(cell.tokens_per_s)},
                             {"speed", to_json(cell.speed)},
                             {"round_speeds", cell.round_speeds},
                             {"fast_speed", cell.fast_speed},
                             {"efficiency", json_or_null(cell.efficiency)},
                             {"bubble", json_or_null(cell.bubble)},
                             {"simulated_speed", json_or_null(cell.simulated_speed)}});
  return json;
}

BenchResult read_bench_result(const std::filesystem::path& file) {
  const Json json = read_json(file);
  const JsonKeys keys(file, json);
  if (const std::string schema = keys.text("schema"); schema != bench_schema)
    keys.fail("schema", "is \"" + schema + "\"; this program reads " + bench_schema);
  BenchResult result;
  result.name = keys.text("name");
  result.started = keys.text("started");
  keys.object("machine");
  result.machine = keys.at("machine");
  result.cores = keys.integer("cores", 1);
  result.rounds = keys.integer("rounds", 1);
  result.steps = keys.integer("steps", 1);
  result.coverage = keys.number("coverage");
  result.noise = keys.number("noise");
  result.quiet_limit = keys.number("quiet_limit");
  for (const JsonKeys& reference : keys.objects("references"))
    result.references.push_back(bench_reference_of(reference));
  for (const JsonKeys& cell : keys.objects("cells")) result.cells.push_back(bench_cell_of(cell));
  result.failed = keys.texts("failed");
  return result;
}

}  // namespace plumbline
