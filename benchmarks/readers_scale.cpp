// SPDX-License-Identifier: BSD-3-Clause
// Cost of each reader of files against the size of the file: twice the size takes at most 2.2 times the time. Each
// container of a right file is made long in turn (members, elements, rows, cells, one text), and files of one character
// only are read. Ends with 1 if one takes longer.
//     ninja -C build/cpu readers_scale && build/cpu/bin/readers_scale --benchmark_filter='manifest/'
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/json_text.hpp"
#include "tests/fuzz/reader.hpp"

namespace {

using namespace plumbline;

constexpr double most_for_twice_the_size = 2.2;
/// Shorter times are not compared.
constexpr double least_seconds = 0.01;
constexpr std::size_t characters = std::size_t{1} << 20, elements = 8000;
bool all_linear = true;

/// The bytes of a file with something of this size in it.
using Grown = std::function<std::string(std::size_t)>;

double seconds_of(const fuzzing::Feeder& feeder, const std::string& bytes) {
  const std::clock_t begin = std::clock();  // of the processor: other programs do not count
  benchmark::DoNotOptimize(feeder.feed(bytes));
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// Compares the least of several times each, taken in turn.
void twice_the_size(benchmark::State& state, const fuzzing::Reader& reader, const Grown& grown, std::size_t size) {
  const fuzzing::Feeder feeder(reader);
  const std::string bytes = grown(size), longer = grown(2 * size);
  double once = 1e9, twice = 1e9;
  const auto is_linear = [&] { return twice <= most_for_twice_the_size * std::max(once, least_seconds); };
  for (auto _ : state) {
    for (int round = 0; round < 10 && (round == 0 || !is_linear()); ++round) {
      once = std::min(once, seconds_of(feeder, bytes));
      twice = std::min(twice, seconds_of(feeder, longer));
    }
  }
  state.counters["MB"] = static_cast<double>(bytes.size()) / 1e6;
  state.counters["ratio"] = twice / once;
  if (is_linear()) return;
  all_linear = false;
  state.SkipWithError(
      ("twice the size takes " + std::to_string(twice / once) + " times " + std::to_string(once) + " s").c_str());
}

void add(const fuzzing::Reader& reader, const std::string& what, std::size_t size, const Grown& grown) {
  benchmark::RegisterBenchmark((reader.name + "/" + what).c_str(),
                               [=](benchmark::State& state) { twice_the_size(state, reader, grown, size); })
      ->Iterations(1)
      ->Unit(benchmark::kMillisecond);
}

std::string times(std::size_t count, const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

/// `json` as text, in which the value at `place` is replaced by `text`.
std::string with_text_at(Json json, const Json::json_pointer& place, const std::string& text) {
  const std::string mark = "the place of the text";
  json[place] = mark;
  std::string bytes = json_text(json);
  return bytes.replace(bytes.find('"' + mark + '"'), mark.size() + 2, text);
}

/// Each container of it in turn, and each text at its top.
void add_json(const fuzzing::Reader& reader, const Json& seed, const Json::json_pointer& place) {
  const Json& value = seed.at(place);
  const std::string name = place.to_string();
  if (value.is_string() && (place.empty() || place.parent_pointer().empty()))
    add(reader, "text " + name, characters,
        [=](std::size_t size) { return with_text_at(seed, place, '"' + std::string(size, 'x') + '"'); });
  if (!value.is_structured()) return;
  const bool object = value.is_object();
  const std::string all = json_text(value), inside = all.substr(1, all.size() - 2);
  const std::string element = value.empty() ? "1" : json_text(*value.begin());
  add(reader, (object ? "members " : "elements ") + name, elements, [=](std::size_t size) {
    std::string text = (object ? "{" : "[") + inside;
    for (std::size_t i = 0; i < size; ++i) {
      if (text.size() > 1) text += ',';
      if (object) text += "\"member " + std::to_string(i) + "\":";
      text += element;
    }
    text += object ? '}' : ']';
    return place.empty() ? text : with_text_at(seed, place, text);
  });
  if (object)
    for (const auto& [key, member] : value.items()) add_json(reader, seed, place / key);
  else if (!value.empty())
    add_json(reader, seed, place / std::size_t{0});
}

void add_csv(const fuzzing::Reader& reader, const std::string& seed) {
  const std::string header = seed.substr(0, seed.find('\n')), rest = seed.substr(header.size());
  const std::string last = seed.substr(seed.rfind('\n', seed.size() - 2) + 1);
  add(reader, "rows", elements, [=](std::size_t size) { return seed + times(size, last); });
  add(reader, "columns", characters / 8, [=](std::size_t size) {
    std::string text = header;
    for (std::size_t i = 0; i < size; ++i) text += ",c" + std::to_string(i);
    return text + rest;
  });
  add(reader, "cells", characters, [=](std::size_t size) { return seed + times(size, ",") + "\n"; });
  add(reader, "a cell", characters, [=](std::size_t size) { return seed + "\"" + times(size, "\n") + "\"\n"; });
}

void add_toml(const fuzzing::Reader& reader, const std::string& seed) {
  const auto numbered = [&](const std::string& before, const std::string& after) {
    return [=](std::size_t size) {
      std::string text;
      for (std::size_t i = 0; i < size; ++i) text += before + std::to_string(i) + after;
      return text + seed;
    };
  };
  add(reader, "keys", elements, numbered("key", " = 1\n"));
  add(reader, "tables", elements, numbered("[table", "]\n"));
  add(reader, "tables of an array", elements, numbered("[[table]]\nkey", " = 1\n"));
  add(reader, "dotted keys", elements, numbered("a.b.key", " = 1\n"));
  add(reader, "elements", elements,
      [=](std::size_t size) { return seed + "\n[x]\ny = [" + times(size, "1,") + "]\n"; });
  for (const char* quotes : {"\"", "'", "\"\"\"", "'''"})
    for (const char* text : {"x", "\\\\", "\"", "'", "\n", "\\\n "})
      add(reader, std::string("text in ") + quotes + " of " + json_text(text), characters / 4,
          [=](std::size_t size) { return seed + "\n[x]\ny = " + quotes + times(size, text) + quotes + "\n"; });
}

/// A file of one character, and a right file with as many of them behind it.
void add_characters(const fuzzing::Reader& reader, const std::string& seed) {
  for (const char character : std::string("\"'[{,.\\=#\n a0\0\xFF", 15)) {
    const std::string name = json_text(std::string(1, character));
    add(reader, "only " + name, characters, [=](std::size_t size) { return std::string(size, character); });
    add(reader, "ends with " + name, characters, [=](std::size_t size) { return seed + std::string(size, character); });
  }
}

void add_reader(const fuzzing::Reader& reader, const std::filesystem::path& file) {
  const std::string seed = read_file(file);
  add_characters(reader, seed);
  if (reader.file.ends_with(".json"))
    add_json(reader, parse_json(file, seed, JsonTexts::as_written), Json::json_pointer());
  if (reader.file.ends_with(".csv")) add_csv(reader, seed);
  if (reader.file.ends_with(".toml")) add_toml(reader, seed);
}

}  // namespace

int main(int argc, char** argv) {
  const auto seeds = fuzzing::seeds();
  for (const fuzzing::Reader& reader : fuzzing::readers()) add_reader(reader, seeds.at(reader.name).front());
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  std::cout << (all_linear ? "every reader is linear\n" : "NOT LINEAR: see the errors above\n");
  return all_linear ? 0 : 1;
}
