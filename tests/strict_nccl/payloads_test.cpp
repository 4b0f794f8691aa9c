// SPDX-License-Identifier: BSD-3-Clause
// Payloads over NCCL without a transport above them: rules that every transport obeys, so that no run tests them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "pipeline/transport/control.hpp"
#include "pipeline/transport/group.hpp"
#include "pipeline/transport/nccl/nccl_payloads.hpp"
#include "pipeline/transport/threads_transport.hpp"
#include "tests/pipeline/transport/ranks.hpp"
#include "tests/strict_nccl/forwarding_gpu.hpp"
#include "tests/strict_nccl/strict_run.hpp"

namespace plumbline::strict {
namespace {

/// Runs `body(payloads, control, wait)` on two ranks.
template <typename Body>
void on_two_ranks(const Body& body) {
  StrictWorld world(2);
  const auto endpoints = make_threads_endpoints(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      NcclPayloads payloads(world.gpu(rank), rank, {});
      const Control::Wait wait = [&](const std::string& /*what*/, const std::function<bool()>& ended) {
        while (!ended()) payloads.progress();
      };
      Control control(*endpoints.at(static_cast<std::size_t>(rank)), wait);
      try {
        body(rank, payloads, control, wait);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "rank " << rank << ": " << error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(world.leftovers(), ::testing::IsEmpty());
}

TEST(NcclPayloads, RefusesASecondConnectionOfAPair) {
  on_two_ranks([](int /*rank*/, NcclPayloads& payloads, Control& control, const Control::Wait& wait) {
    EXPECT_EQ(thrown_by<std::logic_error>([&] {
                payloads.connect({{0, 1}, {1, 0}}, control, wait);
              }),
              "two connections of the same ranks");
  });
}

/// Records the configurations of communicators.
class NotesConfig : public ForwardingNccl {
 public:
  using ForwardingNccl::ForwardingNccl;
  NcclCommunicator init_rank(const std::string& id, int ranks, int rank, const NcclConfig& config) override {
    max_ctas.push_back(config.max_ctas);
    sizes.push_back(ranks);
    return inner_.init_rank(id, ranks, rank, config);
  }
  std::vector<int> max_ctas;
  std::vector<int> sizes;  ///< ranks of each
};

TEST(NcclPayloads, EveryCommunicatorLimitsMultiprocessors) {
  StrictWorld world(2);
  std::vector<std::unique_ptr<NotesConfig>> notes;
  const GpuSeam seam = [&](int rank, GpuApi inner) {
    return GpuApi{inner.cuda, *notes.emplace_back(std::make_unique<NotesConfig>(world.gpu(rank).nccl))};
  };
  run_strict(world, {.seam = seam, .nccl = {.max_ctas = 3}}, [](Transport&) {});

  for (const auto& each : notes) EXPECT_THAT(each->max_ctas, ::testing::ElementsAre(3, 3)) << "forward and backward";
}

TEST(NcclPayloads, ReplicasShareOneCommunicatorForEachDirection) {
  StrictWorld world(6);
  std::vector<std::unique_ptr<NotesConfig>> notes;
  const GpuSeam seam = [&](int rank, GpuApi inner) {
    return GpuApi{inner.cuda, *notes.emplace_back(std::make_unique<NotesConfig>(world.gpu(rank).nccl))};
  };
  run_strict(world, {.ranks = 6, .seam = seam, .connect = false}, [](Transport& t) {
    t.connect(connections_of({2, 1, PlacementKind::loop}, false, 3));
  });

  for (const auto& each : notes) EXPECT_THAT(each->sizes, ::testing::ElementsAre(2, 2, 3, 3)) << "neighbor, replicas";
}

TEST(NcclPayloads, AFailedCloseAbortsTheRemainingCommunicators) {
  on_two_ranks([](int /*rank*/, NcclPayloads& payloads, Control& control, const Control::Wait& wait) {
    payloads.connect({{0, 1}}, control, wait);
    const std::string second = "the end of the NCCL communicator of ranks 0 and 1, backward";
    const Control::Wait impatient = [&](const std::string& what, const std::function<bool()>& ended) {
      if (what == second) throw RunError("planted");
      wait(what, ended);
    };
    EXPECT_EQ(thrown_by<RunError>([&] { payloads.close(impatient); }), "planted");
  });
}

}  // namespace
}  // namespace plumbline::strict
