// SPDX-License-Identifier: BSD-3-Clause
// Faults at every kind of place: on the first, middle and last rank of 2 to 5. Each must be the verdict's first
// divergence, at the unit with the fault.
#include <functional>
#include <string>
#include <vector>

#include "tests/mutant/canary.hpp"

namespace plumbline {
namespace {

struct Site {
  int world, rank;
};

/// The first unit of a rank's stage. untied-128 has 4 layers, spread evenly; on 5 ranks each rank after the embedding's
/// has one.
std::string first_unit(const Site& site) {
  if (site.rank == 0) return "embed_tokens";
  const std::vector<std::vector<int>> layers = {{0, 2}, {0, 2, 3}, {0, 1, 2, 3}, {0, 0, 1, 2, 3}};
  return "layers." +
         std::to_string(layers[static_cast<std::size_t>(site.world - 2)][static_cast<std::size_t>(site.rank)]);
}

std::string first_unit_after(const Site& site) {
  return first_unit({site.world, site.rank + 1});
}

/// The last unit of the stage, where a wrong gradient of the whole stage shows first.
std::string last_unit(const Site& site) {
  if (site.rank + 1 == site.world) return "lm_head";
  const int next = first_unit_after(site).back() - '0';
  return next == 0 ? "embed_tokens" : "layers." + std::to_string(next - 1);
}

/// `with`: what follows the rank, such as ",microbatch=4".
Canary at(const std::string& fault, const Site& site, const std::string& with, Canary expected) {
  expected.name = fault + "_rank" + std::to_string(site.rank) + "_of" + std::to_string(site.world);
  expected.fault = fault + "@rank=" + std::to_string(site.rank) + with;
  expected.world = site.world;
  expected.of_the_verdict = expected.output.empty();
  return expected;
}

std::vector<Canary> at_each(const std::string& fault, const std::vector<Site>& sites, const std::string& with,
                            const std::function<Canary(const Site&)>& expected) {
  std::vector<Canary> all;
  for (const Site& site : sites) all.push_back(at(fault, site, with, expected(site)));
  return all;
}

Canary forward_of(const std::string& cut, std::int64_t microbatch) {
  return {.check = "boundaries", .step = 0, .microbatch = microbatch, .direction = "forward", .item = cut};
}

Canary backward_of(const std::string& cut, std::int64_t microbatch) {
  return {.check = "boundaries", .step = 0, .microbatch = microbatch, .direction = "backward", .item = cut};
}

Canary gradient_of(const Site& site) {
  return {.check = "gradients",
          .step = 0,
          .item = last_unit(site),
          .still_hold = {"completion", "data"},
          .rank = site.rank};
}

std::vector<Canary> join_all(const std::vector<std::vector<Canary>>& lists) {
  std::vector<Canary> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// A changed boundary gradient shows at the lower boundary of the rank's stage, or on the first rank in its gradients.
Canary taken_gradient(const Site& site, std::int64_t microbatch) {
  return site.rank == 0 ? gradient_of(site) : backward_of(first_unit(site), microbatch);
}

const std::vector<Site> last_ranks = {{2, 1}, {3, 2}, {4, 3}, {5, 4}};

INSTANTIATE_TEST_SUITE_P(
    SitesOfTheWire, Canaries,
    ::testing::ValuesIn(join_all({
        at_each("C2", {{2, 1}, {5, 2}}, "",
                [](const Site&) { return Canary{.check = "completion", .output = "they differ in the shape"}; }),
        at_each("C5", {{2, 1}, {3, 2}, {5, 3}}, ",microbatch=5",
                [](const Site& site) { return forward_of(first_unit(site), 5); }),
        at_each("C8", {{2, 0}, {4, 2}, {5, 3}}, ",microbatch=4",
                [](const Site& site) { return taken_gradient(site, 4); }),
        at_each("C9", {{2, 0}, {4, 1}, {5, 3}}, ",microbatch=5",
                [](const Site& site) { return forward_of(first_unit_after(site), 5); }),
        at_each("C12", {{2, 0}, {3, 1}, {4, 1}, {4, 2}, {5, 0}, {5, 3}}, ",microbatch=5",
                [](const Site& site) { return taken_gradient(site, 5); }),
        at_each("C13", {{3, 1}, {4, 2}}, ",microbatch=3",
                [](const Site&) { return Canary{.check = "completion", .output = "they differ in the dtype"}; }),
        at_each("H3", {{2, 0}, {4, 2}, {5, 3}}, ",microbatch=6",
                [](const Site& site) { return forward_of(first_unit_after(site), 6); }),
        at_each("H3b", {{2, 1}, {4, 1}, {5, 4}}, ",microbatch=6",
                [](const Site& site) { return backward_of(first_unit(site), 6); }),
        at_each("M4", {{2, 0}, {3, 1}, {5, 2}}, "",
                [](const Site& site) { return forward_of(first_unit_after(site), 0); }),
    })),
    canary_name);

INSTANTIATE_TEST_SUITE_P(
    SitesOfGradients, Canaries,
    ::testing::ValuesIn(join_all({
        at_each("G1", {{2, 1}, {5, 4}}, "", [](const Site& site) { return backward_of(first_unit(site), 0); }),
        at_each("G2", {{2, 0}, {3, 1}, {4, 3}, {5, 4}}, "", gradient_of),
        at_each("G3", last_ranks, "", [](const Site& site) { return backward_of(first_unit(site), 0); }),
        at_each("G4", last_ranks, "",
                [](const Site& site) {
                  return Canary{
                      .check = "loss", .step = 0, .microbatch = 0, .item = "loss of the microbatch", .rank = site.rank};
                }),
        at_each("G5", {{2, 1}, {3, 0}, {5, 2}}, "", gradient_of),
        at_each("G9", last_ranks, "", [](const Site& site) { return backward_of(first_unit(site), 0); }),
        at_each("G10", {{2, 0}, {3, 2}, {4, 1}, {5, 3}}, "", gradient_of),
        at_each("G11", {{2, 0}, {3, 1}, {4, 3}}, ",microbatch=5",
                [](const Site& site) {
                  Canary canary = gradient_of(site);
                  canary.schedule = "zb-h1";
                  if (site.rank == 0) canary.item = "layers.1.mlp.down_proj";
                  return canary;
                }),
        at_each("G7", {{2, 0}, {3, 0}, {5, 0}}, "",
                [](const Site&) {
                  return Canary{.check = "gradient_norm",
                                .step = 0,
                                .item = "gradient_norm",
                                .still_hold = {"completion", "data", "census"}};
                }),
        at_each("G8", {{2, 0}, {4, 0}}, "",
                [](const Site&) {
                  return Canary{.run = "canary-tied",
                                .check = "gradient_norm",
                                .step = 0,
                                .item = "gradient_norm",
                                .still_hold = {"completion", "data", "census"}};
                }),
    })),
    canary_name);

Canary parameter_of(const Site& site, std::int64_t step) {
  return {.check = "parameters", .step = step, .item = first_unit(site), .rank = site.rank};
}

INSTANTIATE_TEST_SUITE_P(
    SitesOfState, Canaries,
    ::testing::ValuesIn(join_all({
        at_each("O1", {{2, 0}, {3, 2}, {5, 2}}, ",step=1", [](const Site& site) { return parameter_of(site, 1); }),
        at_each("O2", {{2, 1}, {3, 0}, {5, 3}}, "",
                [](const Site& site) {
                  return Canary{.check = "parameters", .step = 0, .item = "learning_rate", .rank = site.rank};
                }),
        at_each("O4", {{2, 1}, {3, 0}, {3, 1}, {5, 4}}, "", [](const Site& site) { return parameter_of(site, -1); }),
        at_each("P5", {{2, 1}, {4, 2}, {5, 4}}, "", [](const Site& site) { return parameter_of(site, -1); }),
        at_each("P1", {{2, 1}, {4, 3}, {5, 2}}, "",
                [](const Site& site) { return Canary{.check = "census", .step = -1, .item = first_unit(site)}; }),
        at_each("P2", {{2, 1}, {3, 1}, {4, 2}, {5, 3}}, "",
                [](const Site& site) {
                  const std::string below = first_unit(site);
                  return Canary{.check = "census", .step = -1, .item = "layers." + std::to_string(below.back() - '1')};
                }),
        at_each("T2", {{2, 1}, {3, 2}}, "",
                [](const Site&) {
                  return Canary{.run = "canary-tied",
                                .check = "completion",
                                .output = "the copies of the tied weight on the first and the last stage differ"};
                }),
        at_each("T3", {{2, 1}, {5, 4}}, "",
                [](const Site& site) {
                  return Canary{.check = "parameters", .step = 0, .item = "lm_head", .rank = site.rank};
                }),
        at_each("U6", last_ranks, ",step=1",
                [](const Site& site) {
                  return Canary{
                      .run = "canary-tied", .check = "tied_weights", .step = 1, .item = "lm_head", .rank = site.rank};
                }),
        at_each("C7", {{2, 1}, {3, 2}, {4, 0}}, ",microbatch=4",
                [](const Site& site) {
                  return Canary{.check = "data", .step = 0, .microbatch = 4, .item = "data", .rank = site.rank};
                }),
    })),
    canary_name);

}  // namespace
}  // namespace plumbline
