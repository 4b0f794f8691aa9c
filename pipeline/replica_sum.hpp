// SPDX-License-Identifier: BSD-3-Clause
// The sum of gradients over the ranks of one place in all replicas of the pipeline, which hold the same stages.
#pragma once

#include <cstdint>
#include <vector>

#include "pipeline/transport/group.hpp"
#include "training/train_state.hpp"

namespace plumbline {

/// Elements of a bucket's part that each replica owns, which it adds and hands to the others.
struct BucketPart {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
BucketPart bucket_part(std::int64_t elements, int replica, int replicas);

class ReplicaSum {
 public:
  /// Largest size of what is exchanged at once, a piece of a run of gradients. About as many bytes are on their way
  /// before the bucket that is added, and behind it.
  static constexpr std::int64_t bucket_bytes = std::int64_t{4} << 20, bucket_bytes_on_gpu = std::int64_t{64} << 20;

  /// `group`: the ranks of one place, by their replica. `waits_for`: called with the rank of the run that an exchange
  /// waits for, and with -1 afterwards.
  ReplicaSum(Group group, at::Device device, WaitCallback waits_for = {})
      : group_(std::move(group)),
        device_(device),
        waits_for_(std::move(waits_for)),
        most_bytes_(device.is_cpu() ? bucket_bytes : bucket_bytes_on_gpu) {}

  int replica() const { return group_.rank(); }
  int replicas() const { return group_.size(); }

  /// Each gradient of this stage in the state becomes ((g_0 + g_1) + g_2) + ... over the replicas, with the same bits
  /// in all. Each owner of a part adds all replicas' parts in order, then hands the sum on: the bytes of a ring's
  /// all-reduce. Does not block: call it after the stage's last backward pass, in the same order in all replicas.
  void start(std::int64_t step, std::int64_t stage, const TrainState& state);
  /// Continues what was started as far as messages have arrived.
  void progress() { advance(false); }
  /// Blocks until all that was started is summed.
  void finish();
  /// The values of all replicas, replica by replica; each has as many.
  std::vector<float> gather(std::int64_t step, std::int32_t stage, const std::vector<float>& own);

 private:
  /// What both ends of a message must agree about.
  struct About {
    std::int64_t step = 0;
    std::int32_t stage = 0;
    std::int32_t bucket = 0;  ///< number of the exchange within the step
    bool summed = false;      ///< holds a sum over replicas
  };
  struct InProgress {
    Pending pending;
    int replica = 0;
  };
  struct Bucket {
    About about;
    at::Tensor flat;
    std::int64_t begin = 0, end = 0;  ///< bytes of the buckets before it, and with it
    std::vector<InProgress> sends = {}, receives = {};
  };
  static MessageHeader header_of(const About& about, std::int64_t elements, at::ScalarType dtype);
  InProgress send(int replica, const About& about, at::Tensor tensor);
  InProgress receive(int replica, const About& about, std::int64_t elements, at::ScalarType dtype,
                     at::Tensor into = {});
  /// Blocks until it has completed. Returns what was received; undefined for a send.
  at::Tensor wait(InProgress& message);
  /// `blocks`: waits for messages, else returns at the first that has not arrived.
  void advance(bool blocks);
  void hand_out(Bucket& bucket);
  void add(Bucket& bucket);
  void take(Bucket& bucket);
  at::Tensor part_of(const Bucket& bucket, int replica) const;
  void wait_for_sends(Bucket& bucket);

  Group group_;
  at::Device device_;
  WaitCallback waits_for_;
  std::int64_t most_bytes_;
  std::vector<Bucket> buckets_;  ///< of the step, in order; so many have begun each part of the exchange:
  std::size_t handed_out_ = 0, added_ = 0, taken_ = 0;
};

}  // namespace plumbline
