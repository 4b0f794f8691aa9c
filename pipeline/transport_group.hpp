// SPDX-License-Identifier: BSD-3-Clause
// Implements RankGroup with a transport.
#pragma once

#include <functional>
#include <utility>

#include "pipeline/transport/transport.hpp"
#include "training/rank_group.hpp"

namespace plumbline {

class TransportGroup : public RankGroup {
 public:
  /// `transport`: of all ranks. The ranks of the run stand pipeline after pipeline, `ranks` in each.
  TransportGroup(Transport& transport, int ranks) : transport_(transport), ranks_(ranks) {}

  int rank() const override { return transport_.rank(); }
  int size() const override { return transport_.world_size(); }
  int copies() const override { return size() / ranks_; }
  int copy() const override { return rank() / ranks_; }
  std::vector<std::string> gather(const std::string& bytes) override { return transport_.gather(bytes); }
  std::string broadcast(const std::string& bytes) override { return transport_.broadcast(bytes); }
  void carry_request(std::function<bool()> asked) override {
    if (size() == 1) return RankGroup::carry_request(std::move(asked));  // a single rank sends no messages
    transport_.carry_request(std::move(asked));
  }
  bool request_carried() const override {
    return size() == 1 ? RankGroup::request_carried() : transport_.request_carried();
  }
  void leave_steps() override { transport_.leave_steps(); }
  void enter_steps() override { transport_.start_steps(); }

 private:
  Transport& transport_;
  int ranks_;
};

}  // namespace plumbline
