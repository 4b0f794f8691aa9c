// SPDX-License-Identifier: BSD-3-Clause
// The ranks of the same place in all replicas of the pipeline: they hold the same stages and add their gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/replica_messages.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// Elements of a bucket's part that each replica owns, which it adds and hands to the others.
struct BucketPart {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
BucketPart bucket_part(std::int64_t elements, int replica, int replicas);

class ReplicaGroup {
 public:
  /// Largest size of what is exchanged at once, a piece of a run of gradients. About as many bytes are on their way
  /// before the bucket that is added, and behind it.
  static constexpr std::int64_t bucket_bytes = std::int64_t{4} << 20;

  /// `world`: of all replicas, each with `ranks` ranks; it must outlive this object.
  ReplicaGroup(Transport& world, int ranks, at::Device device);

  int replica() const { return replica_; }
  int replicas() const { return replicas_; }
  Transport& world() const { return world_; }
  /// Called with the rank of the run that an exchange waits for, and with -1 afterwards.
  void set_wait_callback(WaitCallback callback) { messages_.set_wait_callback(std::move(callback)); }

  /// Each gradient of the state becomes ((g_0 + g_1) + g_2) + ... over the replicas, with the same bits in all. Each
  /// owner of a part adds all replicas' parts in order, then hands the sum on: the bytes of a ring's all-reduce.
  /// `stage`: the rank's lowest.
  void sum_gradients(std::int64_t step, std::int32_t stage, const TrainState& state);
  /// The values of all replicas, replica by replica; each has as many.
  std::vector<float> gather(std::int64_t step, std::int32_t stage, const std::vector<float>& own);

 private:
  struct Bucket {
    std::int32_t number = 0;
    at::Tensor flat;
    std::vector<ReplicaMessages::InProgress> sends = {}, receives = {};
  };
  static std::vector<Bucket> buckets_of(const TrainState& state);
  int peer(int replica) const { return replica * ranks_ + rank_; }
  void hand_out(Bucket& bucket, const ReplicaMessages::About& about);
  void add(Bucket& bucket, const ReplicaMessages::About& about);
  void take(Bucket& bucket);
  at::Tensor part_of(const Bucket& bucket, int replica) const;
  void wait_for_sends(Bucket& bucket);

  Transport& world_;
  int ranks_;
  int rank_;  ///< in the pipeline
  int replica_;
  int replicas_;
  ReplicaMessages messages_;
};

}  // namespace plumbline
