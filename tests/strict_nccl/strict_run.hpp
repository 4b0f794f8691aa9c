// SPDX-License-Identifier: BSD-3-Clause
// Runs one body on all ranks over a strict world. As with processes, each rank's transport is destroyed as soon as its
// body ends.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/transport/transport.hpp"
#include "tests/strict_nccl/strict_transports.hpp"

namespace plumbline::strict {

/// Longer than any run that ends for another reason, even on a loaded machine.
constexpr std::chrono::seconds patience{60};

struct RunOptions {
  int ranks = 2;
  Settings behavior = {};
  GpuSeam seam = {};
  TransportSettings transport = {patience};
  NcclSettings nccl = {};
  bool connect = true;
  bool finish = true;  ///< a rank finishes its transport when its body returns
};

struct Outcome {
  std::vector<std::string> errors;    ///< one per rank, empty if nothing was thrown
  std::vector<std::string> findings;  ///< of the strict libraries
  std::vector<std::string> leftovers;
  std::chrono::milliseconds took{0};
};

template <typename Body>
Outcome run_strict(StrictWorld& world, const RunOptions& options, const Body& body) {
  Outcome outcome;
  outcome.errors.resize(static_cast<std::size_t>(options.ranks));
  auto transports = make_strict_transports(world, options.ranks, options.transport, options.nccl, options.seam);
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < transports.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const std::unique_ptr<Transport> own = std::move(transports[rank]);
      try {
        if (options.connect) own->connect(ring_pairs(options.ranks));
        body(*own);
        if (options.finish) own->finish();
      } catch (const std::exception& error) {
        outcome.errors[rank] = error.what();
        own->abort(error.what());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  outcome.took = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
  outcome.findings = world.findings();
  outcome.leftovers = world.leftovers();
  return outcome;
}

template <typename Body>
Outcome run_strict(const RunOptions& options, const Body& body) {
  StrictWorld world(options.ranks, options.behavior);
  return run_strict(world, options, body);
}

/// All errors and findings of a run as one text.
inline std::string all_words(const Outcome& outcome) {
  std::string words;
  for (const std::string& error : outcome.errors) words += error + "\n";
  for (const std::string& finding : outcome.findings) words += finding + "\n";
  return words;
}

}  // namespace plumbline::strict
