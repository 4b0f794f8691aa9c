// SPDX-License-Identifier: BSD-3-Clause
// A small, valid run record, for tests to damage.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "record/manifest.hpp"
#include "record/writer.hpp"
#include "support/hash.hpp"
#include "tests/temporary_folder.hpp"

namespace plumbline::testing {

inline const std::string some_digest = "e9ae472f8e0534b67486a13c09695146";
inline const std::string sample_schedule = "0F0,0B0\n1F0,1B0\n2F0,2B0\n";

/// Three ranks of one stage each, the middle one empty; two steps of one microbatch.
inline Json sample_manifest() {
  return Json::parse(R"({
    "schema": "plumbline-record/2", "run_id": "a-run", "role": "pipeline", "command": ["plumbline-pipeline"],
    "model": {"hidden_size": 64, "num_hidden_layers": 1}, "seed": 1, "dtype": "float32", "device": "cpu",
    "world_size": 3, "steps": 2,
    "data": {"source": "fixtures/corpus", "microbatches": 1},
    "schedule": {"name": "afab", "chunks_per_rank": 1, "microbatches": 1, "digest": ")" +
                     hash_hex(sample_schedule) + R"(", "accumulation": "ascending", "accumulation_digest": null},
    "stages": [{"stage": 0, "rank": 0, "units": ["embed_tokens", "layers.0"]},
               {"stage": 1, "rank": 1, "units": []},
               {"stage": 2, "rank": 2, "units": ["norm", "lm_head"]}],
    "tied": [["lm_head.weight", "model.embed_tokens.weight"]],
    "optimizer": {"name": "adamw", "learning_rate": 0.001, "beta1": 0.9, "beta2": 0.99, "eps": 1e-8, "weight_decay": 0.1},
    "learning_rate_schedule": {"warmup_steps": 0, "start_factor": 1, "final_factor": 0, "total_steps": 2},
    "clip_norm": 1.0, "level": "full", "versions": {"torch": "2.11.0"}, "clock_skew_ns": 0,
    "started": "2026-11-21T12:00:00Z", "note": "kept"})");
}

/// The sample with one rank and all units.
inline Json one_stage_manifest(const std::string& role, const std::string& level = "full") {
  Json json = sample_manifest();
  json["role"] = role;
  json["level"] = level;
  json["world_size"] = 1;
  json["stages"] = {{{"stage", 0}, {"rank", 0}, {"units", {"embed_tokens", "layers.0", "norm", "lm_head"}}}};
  if (role == "reference") json["schedule"]["name"] = "sequential";
  return json;
}

inline StepRow sample_step(std::int64_t rank, std::int64_t step) {
  StepRow row{step, {}, 0.1, 1.0, 0.001, 64, 60, 17, 0.25};
  if (rank == 2) row.loss = 5.4321f;
  return row;
}

inline MicrobatchRow sample_microbatch(std::int64_t rank, std::int64_t step) {
  MicrobatchRow row{step, 0, 32, 2, 64, 60, {}, rank == 1 ? "" : some_digest};
  if (rank == 2) row.loss = 5.4321f;
  return row;
}

inline TensorRow sample_tensor(std::int64_t rank, std::int64_t step) {
  return {step,        "gradient",  rank == 0 ? "model.embed_tokens.weight" : "lm_head.weight",
          rank,        "float32",   {512, 64},
          some_digest, 0.1,         0.3f,
          32768,       512,         0,
          0,           std::nullopt};
}

inline BoundaryRow sample_boundary(std::int64_t rank, std::int64_t step) {
  const bool sends = rank < 2;
  return {step,
          0,
          "forward",
          "norm",
          sends ? rank : rank - 1,
          sends ? rank + 1 : rank,
          sends ? "send" : "receive",
          sends ? rank + 1 : rank - 1,
          "float32",
          {2, 32, 64},
          some_digest,
          16384};
}

inline ActionRow sample_action(std::int64_t rank, std::int64_t step) {
  return {step, 0, std::to_string(rank) + "F0", rank, 0, 100, 200, 10, 4096};
}

inline MemoryRow sample_memory(std::int64_t step) {
  return {step, 1, 2, 3, 4, 5, 6, 7, 8};
}

inline TrafficRow sample_traffic(std::int64_t rank, std::int64_t step) {
  return {step, rank == 2 ? 1 : rank + 1, "forward", rank == 2 ? "receive" : "send", 1, 16384};
}

/// Microbatches and actions in descending order. `alone`: one rank, which sends nothing.
inline void add_sample_step(RecordWriter& writer, std::int64_t rank, std::int64_t step, std::int64_t microbatches = 1,
                            bool alone = false) {
  for (std::int64_t microbatch = microbatches - 1; microbatch >= 0; --microbatch) {
    MicrobatchRow row = sample_microbatch(rank, step);
    row.microbatch = microbatch;
    writer.add(row);
    ActionRow action = sample_action(rank, step);
    action.index = microbatch;
    writer.add(action);
  }
  if (rank != 1) writer.add(sample_tensor(rank, step));
  writer.add(sample_memory(step));
  if (!alone) writer.add(sample_boundary(rank, step));
  if (!alone) writer.add(sample_traffic(rank, step));
  writer.end_step(sample_step(rank, step));
}

inline ExitFile good_exit(std::int64_t rank) {
  return {rank, "ok", 0, {}, "", rank == 1 ? std::nullopt : std::optional(hash_hex(some_digest + some_digest))};
}

/// Manifest and schedule of a new record.
inline void begin_record(const std::filesystem::path& record, const Json& manifest) {
  claim_record_folder(record);
  write_manifest(record, manifest);
  write_schedule_csv(record, sample_schedule);
}

/// Writes a rank with the steps and microbatches of the manifest, and the state before a first step other than 0.
inline void write_sample_rank(const std::filesystem::path& record, std::int64_t rank,
                              const Manifest& manifest = parse_manifest("manifest.json", sample_manifest())) {
  const bool reference = manifest.role == "reference";
  RecordWriter writer(record, rank, manifest.level, reference);
  if (reference) {
    for (const std::string& unit : manifest.stages.front().units) writer.add(SavedRow{0, unit, 1, 2, 3, {}, {}, {}});
  }
  for (const char* kind : {"parameter", "moment1"}) {
    if (manifest.first_step == 0 || rank == 1) continue;
    TensorRow row = sample_tensor(rank, -1);
    row.kind = kind;
    writer.add(row);
  }
  writer.flush();
  for (std::int64_t step = manifest.first_step; step < manifest.steps; ++step)
    add_sample_step(writer, rank, step, manifest.microbatches, manifest.world_size == 1);
  writer.finish(good_exit(rank));
}

/// Writes the whole record.
inline void write_sample(const std::filesystem::path& record, const Json& manifest = sample_manifest()) {
  begin_record(record, manifest);
  const Manifest parsed = parse_manifest("manifest.json", manifest);
  for (std::int64_t rank = 0; rank < parsed.world_size; ++rank) write_sample_rank(record, rank, parsed);
}

/// Replaces a file's bytes without the project's code.
inline void overwrite(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace plumbline::testing
